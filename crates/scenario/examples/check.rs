//! Checks a scenario: `check FILE [PATH=VALUE]...`.
use pullnet_scenario::{Disk, compile};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file");
    let set: Vec<_> =
        arguments.filter_map(|a| a.split_once('=').map(|(p, v)| (p.into(), v.into()))).collect();
    let text = std::fs::read_to_string(&file).expect("a file that can be read");
    match compile(&file, &text, &set, &Disk) {
        Ok(scenario) => print!("{}", scenario.resolved),
        Err(errors) => errors.iter().for_each(|error| println!("{error}")),
    }
}
