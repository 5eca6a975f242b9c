//! Pages of heap programs in a browser: one is there if `chromium` or `google-chrome` is on the path,
//! and without one there is nothing to test.
//!
//! The browser loads the page, runs a script that presses keys and buttons as a person would, and
//! prints the document it has then.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{droste, examples, scratch};

fn runs(program: &str, argument: &str) -> bool {
    let output = Command::new(program).arg(argument).output();
    output.is_ok_and(|output| output.status.success())
}

fn browser() -> Option<&'static str> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let found = known.into_iter().find(|name| runs(name, "--version"));
    if found.is_none() {
        println!("skipped: there is no chromium");
    }
    found
}

/// What a script sees of a page. The script leaves its findings in `out`. There is nothing to see
/// if the browser does not show the page: that is no fault of the page.
fn look(browser: &str, page: &str, name: &str, script: &str) -> Option<Vec<String>> {
    let file = scratch("heap-page").join(name);
    let probe = format!(
        "<script>{{const out=[];const key=k=>dispatchEvent(new KeyboardEvent('keydown',{{key:k}}));\
         const see=()=>{{const open=[...document.querySelectorAll('section')].filter(s=>!s.hidden);\
         const figures=[...document.querySelectorAll('figure')].filter(f=>f.getClientRects().length);\
         const box=figures[0].querySelector('svg').getBoundingClientRect();\
         out.push([document.getElementById('where').textContent,open.length,figures.length,\
         document.querySelectorAll('section:not([hidden]) [aria-current]').length,\
         figures[0].querySelectorAll('.changed').length>0,\
         box.width>50&&box.height>50&&box.right<=innerWidth].join('|'))}};\
         try{{{script}}}catch(e){{out.push(e)}};\
         document.body.innerHTML='<pre>'+out.join('\\n')+'</pre>'}}</script>"
    );
    fs::write(&file, page.replace("</html>", &format!("{probe}</html>"))).unwrap();
    for attempt in 0..3 {
        let text = shown(browser, &file, attempt);
        let found = text
            .split_once("<pre>")
            .and_then(|(_, rest)| rest.split_once("</pre>"));
        if let Some((found, _)) = found {
            return Some(found.lines().map(str::to_owned).collect());
        }
    }
    println!("skipped: {browser} does not show the page");
    None
}

/// The document that the browser has after a page was loaded, if it gets that far within a minute.
fn shown(browser: &str, file: &Path, attempt: u32) -> String {
    let dump = file.with_extension("dom");
    // Two browsers at a time do not share their settings.
    let profile = file.with_extension(format!("profile{attempt}"));
    let child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg("--window-size=1200,800")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", file.display()))
        .stdout(fs::File::create(&dump).unwrap())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return String::new();
    };
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().ok();
            child.wait().ok();
            break;
        }
        sleep(Duration::from_millis(50));
    }
    let text = fs::read(&dump).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

fn page_of(file: &Path, expected: i32) -> String {
    let inside = ["--mode", "shared"];
    droste(
        &[
            &["check", file.to_str().unwrap(), "--emit", "html"],
            &inside[..],
        ]
        .concat(),
    )
    .expect(expected)
    .out
}

#[test]
fn one_steps_through_a_run() {
    let Some(browser) = browser() else { return };
    if !runs("javac", "-version") {
        println!("skipped: there is no javac");
        return;
    }
    let row = examples().join("heap/table/52-SLList.traverseModifyList-N.attestor");
    let page = page_of(&row, 1);
    let script = "see();key('ArrowRight');see();key('End');key('ArrowDown');see();key('Home');see();\
                  document.getElementById('next').click();see();\
                  document.querySelectorAll('section:not([hidden]) li.step')[8].click();see();\
                  document.querySelectorAll('[role=tab]')[2].click();see();\
                  document.querySelector('section:not([hidden]) figure:not([hidden]) a').click();see()";
    let Some(seen) = look(browser, &page, "run.html", script) else {
        return;
    };
    let steps = "16";
    assert_eq!(
        seen[..6],
        [
            format!("1 of {steps}|1|1|1|false|true"),
            format!("2 of {steps}|1|1|1|true|true"),
            // There is nothing behind the end.
            format!("{steps} of {steps}|1|1|1|false|true"),
            format!("1 of {steps}|1|1|1|false|true"),
            format!("2 of {steps}|1|1|1|true|true"),
            // The heap before line 131: `rest` is new.
            format!("9 of {steps}|1|1|1|true|true"),
        ]
    );
    // Another sheet: states, from one to the next.
    assert!(seen[6].starts_with("1 of "), "{seen:?}");
    assert!(
        !seen[7].starts_with("1 of ") && seen[7].ends_with("|1|1|1|false|true"),
        "{seen:?}"
    );
}

#[test]
fn heaps_and_grammars_are_drawn_without_a_program() {
    let Some(browser) = browser() else { return };
    let page = page_of(&examples().join("heap/grammars/skip-list.json"), 0);
    let script = "see();key('ArrowRight');see()";
    let Some(seen) = look(browser, &page, "grammar.html", script) else {
        return;
    };
    assert!(
        seen[0].starts_with("1 of ") && seen[0].ends_with("|1|1|1|false|true"),
        "{seen:?}"
    );
    assert!(seen[1].starts_with("2 of "), "{seen:?}");
    let page = page_of(&examples().join("heap/inputs/rings.json"), 2);
    assert!(page.is_empty(), "its nonterminals are not known");
}

/// No name lies on another one, wherever one steps, and what is drawn lies in the picture.
#[test]
fn names_do_not_overlap() {
    let Some(browser) = browser() else { return };
    if !runs("javac", "-version") {
        println!("skipped: there is no javac");
        return;
    }
    let script = "const all=['1','2','3','4'].filter(k=>document.querySelectorAll('[role=tab]')[k-1]);\
        for(const k of all){key(k);key('Home');const steps=+document.getElementById('where').textContent.split(' of ')[1];\
        for(let i=0;i<Math.min(steps,60);i++){const figure=[...document.querySelectorAll('figure')].find(f=>f.getClientRects().length);\
        const names=[...figure.querySelectorAll('svg text:not(.type)')].filter(t=>t.textContent).map(t=>[t.textContent,t.getBoundingClientRect()]);\
        const box=figure.querySelector('svg').getBoundingClientRect();\
        names.forEach(([a,p],i)=>{\
        if(p.left<box.left-2||p.right>box.right+2||p.top<box.top-2||p.bottom>box.bottom+2)out.push('outside: sheet '+k+' step '+location.hash+': '+a);\
        names.slice(i+1).forEach(([b,q])=>{const x=Math.min(p.right,q.right)-Math.max(p.left,q.left),y=Math.min(p.bottom,q.bottom)-Math.max(p.top,q.top);\
        if(x>3&&y>5)out.push('overlap: '+location.hash+': '+a+' and '+b)})});key('ArrowRight')}}out.push('done '+all.length)";
    for (name, code, sheets) in [
        ("table/52-SLList.traverseModifyList-N", 1, 4),
        ("table/08-DLList.reverse-N", 1, 4),
        ("table/74-Tree.traverseRecursiveModifyHeap-S", 1, 4),
    ] {
        let file = examples().join(format!("heap/{name}.attestor"));
        let page = page_of(&file, code);
        let Some(seen) = look(browser, &page, "names.html", script) else {
            return;
        };
        assert_eq!(seen, [format!("done {sheets}")], "{name}");
    }
}
