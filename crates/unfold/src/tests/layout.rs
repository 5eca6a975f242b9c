//! Every variable has bits of its own, for types of every width.

use droste_program::{NodeId, ProcId, Procedure, Program, Threads, Type, Variable, Violation};
use droste_source::Span;
use droste_testkit::random::{Random, seeds};

use crate::layout::{Field, Layout, Status};

/// Every kind of type: all widths, ranges of one value and of 2⁶⁴, and around zero.
fn types() -> Vec<Type> {
    let bits = (1..=64).flat_map(|width| [false, true].map(|signed| Type::Bits { signed, width }));
    let ranges = [
        (0, 0),
        (-7, -7),
        (-1, 1),
        (5, 12),
        (-(1 << 63), (1 << 63) - 1),
        (0, u64::MAX.into()),
    ];
    let ranges = ranges.into_iter().map(|(lo, hi)| Type::Range { lo, hi });
    [Type::Bool].into_iter().chain(bits).chain(ranges).collect()
}

fn variable(ty: Type) -> Variable {
    Variable {
        name: "v".into(),
        ty,
        span: Span::default(),
        thread: None,
    }
}

/// A program with these variables, and nodes enough for node numbers of some width.
fn program(random: &mut Random) -> Program {
    let all = types();
    let mut some = |most: usize| -> Vec<Type> {
        (0..random.below(most))
            .map(|_| *random.pick(&all))
            .collect()
    };
    let globals = some(12).into_iter().map(variable).collect();
    let procedures = (0..3).map(|_| Procedure {
        name: "p".into(),
        span: Span::default(),
        params: 0,
        locals: some(8).into_iter().map(variable).collect(),
        results: some(4),
        entry: NodeId(0),
        thread: None,
    });
    let procedures: Vec<Procedure> = procedures.collect();
    let node = |i: u32| droste_program::Node {
        procedure: ProcId(i % 3),
        span: Span::default(),
        labels: Vec::new(),
        op: droste_program::Op::Stuck,
        ensure: None,
        silent: false,
    };
    let nodes = [3, 4, 63, 64, 65, 1000][random.below(6)];
    Program {
        globals,
        procedures,
        nodes: (0..nodes).map(node).collect(),
        main: ProcId(0),
        threads: Threads::Dynamic,
    }
}

/// The fields that a state of each kind has.
fn kinds(layout: &Layout) -> Vec<Vec<Field>> {
    let locals = layout.locals.iter().chain(&layout.results);
    let all = locals.map(|own| layout.globals.iter().chain(own).copied().collect());
    all.collect()
}

#[test]
fn a_field_holds_every_value_of_its_type() {
    for ty in types() {
        let mut one = program(&mut Random::new(0));
        one.globals = vec![variable(ty)];
        let layout = Layout::new(&one);
        let field = layout.globals[0];
        assert_eq!(u128::from(field.top), ty.hi().abs_diff(ty.lo()), "{ty}");
        let ends = [
            0,
            1,
            2,
            field.top / 2,
            field.top.saturating_sub(1),
            field.top,
        ];
        for offset in ends.into_iter().filter(|&offset| offset <= field.top) {
            let mut words = vec![0; layout.words];
            assert_eq!(field.get(&words), None, "{ty}");
            field.set(&mut words, Some(offset));
            assert_eq!(field.get(&words), Some(offset), "{ty}");
            assert_eq!(field.offset(field.value(offset)), offset, "{ty}");
            field.set(&mut words, None);
            assert!(
                words.iter().all(|&word| word == 0),
                "{ty}: no value, no bits"
            );
        }
        assert_eq!((field.value(0), field.value(field.top)), (ty.lo(), ty.hi()));
    }
}

#[test]
fn no_two_fields_share_a_bit() {
    for seed in seeds(0, 300) {
        let program = program(&mut Random::new(seed));
        let layout = Layout::new(&program);
        for fields in kinds(&layout) {
            let mut taken = vec![0; layout.words];
            layout.cover_control(&mut taken);
            for (i, field) in fields.iter().enumerate() {
                let mut own = vec![0; layout.words];
                field.cover(&mut own);
                assert!(own.iter().any(|&word| word != 0));
                let apart = own.iter().zip(&taken).all(|(own, taken)| own & taken == 0);
                assert!(apart, "SEED={seed}, field {i}");
                for (taken, own) in taken.iter_mut().zip(own) {
                    *taken |= own;
                }
                assert_eq!(field.slot as usize, i, "globals first, then the others");
            }
        }
    }
}

#[test]
fn what_is_written_is_read_and_nothing_else_changes() {
    const STATUS: [Status; 7] = [
        Status::Running,
        Status::Terminated,
        Status::Exited,
        Status::Failed(Violation::Assertion),
        Status::Failed(Violation::OutOfRange),
        Status::Failed(Violation::DivisionByZero),
        Status::Failed(Violation::NegativeShift),
    ];
    for seed in seeds(0, 100) {
        let mut random = Random::new(seed);
        let program = program(&mut random);
        let layout = Layout::new(&program);
        for fields in kinds(&layout) {
            let mut words = vec![0; layout.words];
            let mut expected = vec![None; fields.len()];
            let mut control = (0, Status::Running);
            for _ in 0..60 {
                if random.percent(20) {
                    let node = random.below(program.nodes.len()) as u32;
                    control = (node, *random.pick(&STATUS));
                    let before = words.clone();
                    layout.set_control(&mut words, control.0, control.1);
                    assert!(layout.same_values(&before, &words));
                } else if !fields.is_empty() {
                    let i = random.below(fields.len());
                    let most = u128::from(fields[i].top) + 1;
                    let offset = (u128::from(random.bits()) % most) as u64;
                    let before = words.clone();
                    let old = expected[i];
                    expected[i] = random.percent(80).then_some(offset);
                    fields[i].set(&mut words, expected[i]);
                    assert_eq!(layout.same_values(&before, &words), old == expected[i]);
                }
                assert_eq!((layout.node(&words), layout.status(&words)), control);
                let read: Vec<_> = fields.iter().map(|field| field.get(&words)).collect();
                assert_eq!(read, expected, "SEED={seed}");
            }
        }
    }
}
