//! The choice of objects and their stacks.

use crate::log::Content;
use crate::machine::{jdks, programs};

/// The example of "Semi-statistical data collection in memory profiling": both functions are seen, in proportion.
#[test]
fn nine_allocations_and_one_show_both_functions() {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.hlevents");
        jdk.run(&[], &format!("out={},seed=3", log.display()), &["NineAndOne", "20000"]);
        let content = Content::read(&log);
        assert_eq!(content.objects("NineAndOne$X"), 200_000);
        let (mut foo, mut bar) = (0, 0);
        for (_, stack, ..) in content.of("NineAndOne$X") {
            // The innermost frame may be the constructor.
            let caller = stack.iter().find(|name| !name.ends_with("<init>")).map(String::as_str);
            match caller {
                Some("NineAndOne.foo") => foo += 1,
                Some("NineAndOne.bar") => bar += 1,
                other => panic!("{other:?}"),
            }
        }
        // Some 20,000 samples: a tenth of them is 2,000, and five standard deviations are 210.
        assert!((19_900..20_200).contains(&(foo + bar)), "{foo} {bar}");
        assert!((1_750..2_250).contains(&bar), "{foo} {bar}");
    }
}

#[test]
fn patterns_choose_the_classes_with_samples() {
    let Some(_) = programs() else { return };
    let Some(jdk) = jdks().first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a-%p.hlevents");
    let options = format!("out={},interval=1,classes=Counted$Pair;*Rare[]", log.display());
    jdk.run(&[], &options, &["Counted", "1000", "1"]);
    let written = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let content = Content::read(&written);
    assert_eq!((content.of("Counted$Pair").count(), content.of("Counted$Rare[]").count()), (200, 77));
    assert_eq!(content.samples.len(), 277);
    assert_eq!((content.objects("Counted$Order"), content.objects("Counted$Item")), (1000, 500));
}
