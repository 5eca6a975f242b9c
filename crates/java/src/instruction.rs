//! Instructions of the Java machine, as far as heaps care.
//!
//! The two hundred instructions become two dozen. What they compute from numbers is forgotten here:
//! an addition takes two values and gives an unknown one.

use droste_pointer::{Kind, Operand};
use noak::error::DecodeError;
use noak::reader::Class;
use noak::reader::attributes::RawInstruction;
use noak::reader::cpool::{ConstantPool, Item};

use crate::descriptor::dotted;
use crate::dynamic::{Dynamic, resolve};

/// A value on the stack: what it holds, and whether it takes two slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub kind: Kind,
    pub wide: bool,
}

const REFERENCE: Slot = Slot {
    kind: Kind::Reference,
    wide: false,
};
const NUMBER: Slot = Slot {
    kind: Kind::Number,
    wide: false,
};
const WIDE: Slot = Slot {
    kind: Kind::Number,
    wide: true,
};

/// A field or a method of a class, by names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// With dots.
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

/// How a method is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Invoke {
    Static,
    Special,
    /// Through classes or interfaces.
    Virtual,
}

/// What a jump asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// The top against null.
    Null { equal: bool },
    /// The top against 0.
    Zero { equal: bool },
    /// The two on top, references or numbers.
    Same { equal: bool },
    /// An order between numbers, which is not known: so many are taken from the stack.
    Order { pops: u8 },
}

/// What an instruction does. Targets are positions in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Nop,
    Push(Operand, Slot),
    Load(u16, Slot),
    Store(u16, Slot),
    /// A number is added to a variable.
    Increment(u16),
    /// Takes so many slots, gives an unknown value.
    Compute {
        pops: u8,
        gives: Option<Slot>,
        what: Compute,
    },
    /// Copies `count` slots and puts the copy below `below` further ones.
    Dup {
        count: u8,
        below: u8,
    },
    Pop(u8),
    Swap,
    GetField(Member),
    PutField(Member),
    GetStatic(Member),
    PutStatic(Member),
    New(String),
    Invoke(Invoke, Member),
    /// Lambdas and the like.
    Dynamic(Box<Dynamic>),
    /// To this type.
    Cast(String),
    /// Of this type.
    InstanceOf(String),
    Jump {
        test: Test,
        target: u32,
    },
    Goto(u32),
    /// Targets by value, and where all others go.
    Switch {
        cases: Vec<(i32, u32)>,
        default: u32,
    },
    Return {
        value: bool,
    },
    Throw,
    /// Calls within a method, which compilers no longer make.
    Subroutine,
}

impl Op {
    /// Where it may jump to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = u32> {
        let (one, cases) = match self {
            Op::Jump { target, .. } | Op::Goto(target) => (Some(*target), &[][..]),
            Op::Switch { cases, default } => (Some(*default), &cases[..]),
            _ => (None, &[][..]),
        };
        one.into_iter()
            .chain(cases.iter().map(|&(_, target)| target))
    }

    /// Whether it may be the last of a statement of the source after which control goes on.
    pub(crate) fn ends_statement(&self) -> bool {
        matches!(
            self,
            Op::Nop | Op::Store(..) | Op::Increment(_) | Op::PutStatic(_) | Op::Pop(_)
        )
    }
}

/// Why a computed value is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compute {
    Arithmetic,
    /// May raise an exception.
    Division,
    /// Makes an array. May raise an exception.
    NewArray {
        /// Of numbers, which hold no objects.
        numbers: bool,
    },
    /// Reads or writes an array, the lowest of the operands. May raise an exception.
    Array,
    Text,
    Monitor,
    /// The end of `synchronized`.
    Unlock,
    /// Takes a number out of an object.
    Unbox,
}

/// Reads one instruction, which stands at `at`.
#[allow(clippy::match_same_arms)]
pub(crate) fn decode(raw: &RawInstruction<'_>, at: u32, class: &Class<'_>) -> Result<Op, Problem> {
    use RawInstruction as R;
    let pool = class.pool();
    let compute = |pops, gives| Op::Compute {
        pops,
        gives,
        what: Compute::Arithmetic,
    };
    let divide = |pops, gives| Op::Compute {
        pops,
        gives: Some(gives),
        what: Compute::Division,
    };
    let array = |pops, gives| Op::Compute {
        pops,
        gives,
        what: Compute::Array,
    };
    let new_array = |pops: u8, numbers: bool| Op::Compute {
        pops,
        gives: Some(REFERENCE),
        what: Compute::NewArray { numbers },
    };
    let number = |value: i64| Op::Push(Operand::Int(value), NUMBER);
    let load = |slot: u16, what: Slot| Op::Load(slot, what);
    let store = |slot: u16, what: Slot| Op::Store(slot, what);
    let target = |offset: i32| target(at, offset);
    let jump = |test, offset: i16| {
        Ok::<Op, Problem>(Op::Jump {
            test,
            target: target(offset.into())?,
        })
    };
    let unknown_float = Op::Push(Operand::Unknown, NUMBER);
    let unknown_double = Op::Push(Operand::Unknown, WIDE);

    Ok(match raw {
        R::Nop => Op::Nop,
        R::AConstNull => Op::Push(Operand::Null, REFERENCE),
        R::IConstM1 => number(-1),
        R::IConst0 => number(0),
        R::IConst1 => number(1),
        R::IConst2 => number(2),
        R::IConst3 => number(3),
        R::IConst4 => number(4),
        R::IConst5 => number(5),
        R::BIPush { value } => number(i64::from(*value)),
        R::SIPush { value } => number(i64::from(*value)),
        R::LConst0 => Op::Push(Operand::Int(0), WIDE),
        R::LConst1 => Op::Push(Operand::Int(1), WIDE),
        R::FConst0 | R::FConst1 | R::FConst2 => unknown_float,
        R::DConst0 | R::DConst1 => unknown_double,
        R::LdC { index } | R::LdCW { index } | R::LdC2W { index } => match pool.get(*index)? {
            Item::Integer(one) => number(i64::from(one.value)),
            Item::Long(one) => Op::Push(Operand::Int(one.value), WIDE),
            Item::Float(_) => unknown_float,
            Item::Double(_) => unknown_double,
            Item::String(_) | Item::Class(_) | Item::MethodHandle(_) | Item::MethodType(_) => {
                Op::Compute {
                    pops: 0,
                    gives: Some(REFERENCE),
                    what: Compute::Text,
                }
            }
            Item::Dynamic(one) => {
                let descriptor = pool
                    .retrieve(one.name_and_type)?
                    .descriptor
                    .display()
                    .to_string();
                let Some(one) = crate::descriptor::field_type(&descriptor) else {
                    return Err(Problem::Bad("a constant of a type that does not exist"));
                };
                let gives = Some(Slot {
                    kind: one.kind,
                    wide: one.wide,
                });
                Op::Compute {
                    pops: 0,
                    gives,
                    what: Compute::Text,
                }
            }
            _ => return Err(Problem::Bad("a constant that cannot be loaded")),
        },

        R::ALoad { index } => load((*index).into(), REFERENCE),
        R::ALoadW { index } => load(*index, REFERENCE),
        R::ALoad0 => load(0, REFERENCE),
        R::ALoad1 => load(1, REFERENCE),
        R::ALoad2 => load(2, REFERENCE),
        R::ALoad3 => load(3, REFERENCE),
        R::ILoad { index } | R::FLoad { index } => load((*index).into(), NUMBER),
        R::ILoadW { index } | R::FLoadW { index } => load(*index, NUMBER),
        R::ILoad0 | R::FLoad0 => load(0, NUMBER),
        R::ILoad1 | R::FLoad1 => load(1, NUMBER),
        R::ILoad2 | R::FLoad2 => load(2, NUMBER),
        R::ILoad3 | R::FLoad3 => load(3, NUMBER),
        R::LLoad { index } | R::DLoad { index } => load((*index).into(), WIDE),
        R::LLoadW { index } | R::DLoadW { index } => load(*index, WIDE),
        R::LLoad0 | R::DLoad0 => load(0, WIDE),
        R::LLoad1 | R::DLoad1 => load(1, WIDE),
        R::LLoad2 | R::DLoad2 => load(2, WIDE),
        R::LLoad3 | R::DLoad3 => load(3, WIDE),
        R::AStore { index } => store((*index).into(), REFERENCE),
        R::AStoreW { index } => store(*index, REFERENCE),
        R::AStore0 => store(0, REFERENCE),
        R::AStore1 => store(1, REFERENCE),
        R::AStore2 => store(2, REFERENCE),
        R::AStore3 => store(3, REFERENCE),
        R::IStore { index } | R::FStore { index } => store((*index).into(), NUMBER),
        R::IStoreW { index } | R::FStoreW { index } => store(*index, NUMBER),
        R::IStore0 | R::FStore0 => store(0, NUMBER),
        R::IStore1 | R::FStore1 => store(1, NUMBER),
        R::IStore2 | R::FStore2 => store(2, NUMBER),
        R::IStore3 | R::FStore3 => store(3, NUMBER),
        R::LStore { index } | R::DStore { index } => store((*index).into(), WIDE),
        R::LStoreW { index } | R::DStoreW { index } => store(*index, WIDE),
        R::LStore0 | R::DStore0 => store(0, WIDE),
        R::LStore1 | R::DStore1 => store(1, WIDE),
        R::LStore2 | R::DStore2 => store(2, WIDE),
        R::LStore3 | R::DStore3 => store(3, WIDE),
        R::IInc { index, .. } => Op::Increment((*index).into()),
        R::IIncW { index, .. } => Op::Increment(*index),

        R::IAdd | R::ISub | R::IMul | R::IAnd | R::IOr | R::IXor => compute(2, Some(NUMBER)),
        R::IShL | R::IShR | R::IUShR => compute(2, Some(NUMBER)),
        R::FAdd | R::FSub | R::FMul | R::FDiv | R::FRem => compute(2, Some(NUMBER)),
        R::FCmpG | R::FCmpL => compute(2, Some(NUMBER)),
        R::IDiv | R::IRem => divide(2, NUMBER),
        R::LAdd | R::LSub | R::LMul | R::LAnd | R::LOr | R::LXor => compute(4, Some(WIDE)),
        R::DAdd | R::DSub | R::DMul | R::DDiv | R::DRem => compute(4, Some(WIDE)),
        R::LDiv | R::LRem => divide(4, WIDE),
        R::LShL | R::LShR | R::LUShR => compute(3, Some(WIDE)),
        R::LCmp | R::DCmpG | R::DCmpL => compute(4, Some(NUMBER)),
        R::INeg | R::FNeg => compute(1, Some(NUMBER)),
        R::LNeg | R::DNeg => compute(2, Some(WIDE)),
        R::I2B | R::I2C | R::I2S | R::I2F | R::F2I => compute(1, Some(NUMBER)),
        R::I2L | R::I2D | R::F2L | R::F2D => compute(1, Some(WIDE)),
        R::L2I | R::L2F | R::D2I | R::D2F => compute(2, Some(NUMBER)),
        R::L2D | R::D2L => compute(2, Some(WIDE)),

        R::NewArray { .. } => new_array(1, true),
        R::ANewArray { .. } => new_array(1, false),
        R::MultiANewArray { dimensions, .. } => new_array(*dimensions, false),
        R::ArrayLength => array(1, Some(NUMBER)),
        R::AALoad => array(2, Some(REFERENCE)),
        R::BALoad | R::CALoad | R::SALoad | R::IALoad | R::FALoad => array(2, Some(NUMBER)),
        R::LALoad | R::DALoad => array(2, Some(WIDE)),
        R::AAStore => array(3, None),
        R::BAStore | R::CAStore | R::SAStore | R::IAStore | R::FAStore => array(3, None),
        R::LAStore | R::DAStore => array(4, None),

        R::Dup => Op::Dup { count: 1, below: 0 },
        R::DupX1 => Op::Dup { count: 1, below: 1 },
        R::DupX2 => Op::Dup { count: 1, below: 2 },
        R::Dup2 => Op::Dup { count: 2, below: 0 },
        R::Dup2X1 => Op::Dup { count: 2, below: 1 },
        R::Dup2X2 => Op::Dup { count: 2, below: 2 },
        R::Pop => Op::Pop(1),
        R::Pop2 => Op::Pop(2),
        R::Swap => Op::Swap,

        R::GetField { index } => Op::GetField(member(&pool.retrieve(*index)?)),
        R::PutField { index } => Op::PutField(member(&pool.retrieve(*index)?)),
        R::GetStatic { index } => Op::GetStatic(member(&pool.retrieve(*index)?)),
        R::PutStatic { index } => Op::PutStatic(member(&pool.retrieve(*index)?)),
        R::New { index } => Op::New(dotted(&pool.retrieve(*index)?.name.display().to_string())),
        R::InvokeVirtual { index } => {
            let one = pool.retrieve(*index)?;
            Op::Invoke(Invoke::Virtual, named(&one.class, &one.name_and_type))
        }
        R::InvokeInterface { index, .. } => {
            let one = pool.retrieve(*index)?;
            Op::Invoke(Invoke::Virtual, named(&one.class, &one.name_and_type))
        }
        R::InvokeSpecial { index } => Op::Invoke(Invoke::Special, method(pool, pool.get(*index)?)?),
        R::InvokeStatic { index } => Op::Invoke(Invoke::Static, method(pool, pool.get(*index)?)?),
        R::InvokeDynamic { index } => {
            let one = pool.get(*index)?;
            let bootstrap = one.bootstrap_method_attr;
            let one = pool.retrieve(one.name_and_type)?;
            let name = one.name.display().to_string();
            let descriptor = one.descriptor.display().to_string();
            Op::Dynamic(Box::new(resolve(class, bootstrap, &name, &descriptor)?))
        }
        R::CheckCast { index } => {
            Op::Cast(dotted(&pool.retrieve(*index)?.name.display().to_string()))
        }
        R::InstanceOf { index } => {
            Op::InstanceOf(dotted(&pool.retrieve(*index)?.name.display().to_string()))
        }
        R::MonitorExit => Op::Compute {
            pops: 1,
            gives: None,
            what: Compute::Unlock,
        },
        R::MonitorEnter => Op::Compute {
            pops: 1,
            gives: None,
            what: Compute::Monitor,
        },

        R::IfNull { offset } => jump(Test::Null { equal: true }, *offset)?,
        R::IfNonNull { offset } => jump(Test::Null { equal: false }, *offset)?,
        R::IfEq { offset } => jump(Test::Zero { equal: true }, *offset)?,
        R::IfNe { offset } => jump(Test::Zero { equal: false }, *offset)?,
        R::IfACmpEq { offset } | R::IfICmpEq { offset } => {
            jump(Test::Same { equal: true }, *offset)?
        }
        R::IfACmpNe { offset } | R::IfICmpNe { offset } => {
            jump(Test::Same { equal: false }, *offset)?
        }
        R::IfLt { offset } | R::IfGe { offset } | R::IfGt { offset } | R::IfLe { offset } => {
            jump(Test::Order { pops: 1 }, *offset)?
        }
        R::IfICmpLt { offset }
        | R::IfICmpGe { offset }
        | R::IfICmpGt { offset }
        | R::IfICmpLe { offset } => jump(Test::Order { pops: 2 }, *offset)?,
        R::Goto { offset } => Op::Goto(target((*offset).into())?),
        R::GotoW { offset } => Op::Goto(target(*offset)?),
        R::TableSwitch(table) => {
            let default = target(table.default_offset())?;
            // The reader of the table counts one beyond its end.
            if table.high() == i32::MAX {
                return Err(Problem::Bad("a switch up to the greatest number"));
            }
            let mut cases = Vec::new();
            for pair in table.pairs() {
                cases.push((pair.key(), target(pair.offset())?));
            }
            Op::Switch { cases, default }
        }
        R::LookupSwitch(table) => {
            let default = target(table.default_offset())?;
            let mut cases = Vec::new();
            for pair in table.pairs() {
                cases.push((pair.key(), target(pair.offset())?));
            }
            Op::Switch { cases, default }
        }
        R::Return => Op::Return { value: false },
        R::AReturn | R::IReturn | R::LReturn | R::FReturn | R::DReturn => {
            Op::Return { value: true }
        }
        R::AThrow => Op::Throw,
        R::JSr { .. } | R::JSrW { .. } | R::Ret { .. } | R::RetW { .. } => Op::Subroutine,
    })
}

/// What is wrong with an instruction.
pub(crate) enum Problem {
    Decode(DecodeError),
    Bad(&'static str),
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Problem::Decode(error)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Decode(error) => error.fmt(f),
            Problem::Bad(what) => f.write_str(what),
        }
    }
}

fn target(at: u32, offset: i32) -> Result<u32, Problem> {
    at.checked_add_signed(offset)
        .ok_or(Problem::Bad("a jump to before the beginning"))
}

fn member(one: &noak::reader::cpool::value::FieldRef<'_>) -> Member {
    named(&one.class, &one.name_and_type)
}

fn named(
    class: &noak::reader::cpool::value::Class<'_>,
    one: &noak::reader::cpool::value::NameAndType<'_>,
) -> Member {
    Member {
        class: dotted(&class.name.display().to_string()),
        name: one.name.display().to_string(),
        descriptor: one.descriptor.display().to_string(),
    }
}

/// Methods of classes and of interfaces, which stand apart in the pool.
pub(crate) fn method(pool: &ConstantPool<'_>, item: &Item<'_>) -> Result<Member, Problem> {
    let (class, name_and_type) = match item {
        Item::MethodRef(one) => (one.class, one.name_and_type),
        Item::InterfaceMethodRef(one) => (one.class, one.name_and_type),
        _ => return Err(Problem::Bad("a call of something that is no method")),
    };
    Ok(named(
        &pool.retrieve(class)?,
        &pool.retrieve(name_and_type)?,
    ))
}
