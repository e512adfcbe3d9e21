//! Makes the documents that readers of documents are judged by, each with the truth about it.
//!
//! `make-documents --seed 1 --set digital FOLDER`: without `--set`, all sets are made.

use std::{error::Error, fs, path::Path, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use testkit::{
    arguments::Arguments,
    documents::{Recipe, Set},
};

fn main() -> Result<(), Box<dyn Error>> {
    let (arguments, folder) =
        Arguments::read_with_last(&[("seed", "1"), ("set", "all"), ("only", "")])?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let (seed, only) = (arguments.get("seed")?, arguments.text("only"));
    let wanted = sets(arguments.text("set"))?;
    let mut recipes: Vec<_> = wanted.into_iter().flat_map(Recipe::of).collect();
    recipes.retain(|recipe| only.is_empty() || recipe.name == only);
    if recipes.is_empty() {
        return Err(format!("`--only {only}`: no document of these sets has this name").into());
    }
    let bar = ProgressBar::new(recipes.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    for recipe in recipes {
        bar.set_message(recipe.name);
        let fixture = recipe.make(seed);
        fs::write(folder.join(&fixture.truth.file), &fixture.bytes)?;
        let truth = serde_json::to_vec_pretty(&fixture.truth)?;
        fs::write(folder.join(format!("{}.json", recipe.name)), truth)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn sets(name: &str) -> Result<Vec<Set>, String> {
    if name == "all" {
        return Ok(Set::ALL.to_vec());
    }
    let set = Set::ALL.into_iter().find(|set| set.name() == name);
    let set = set.ok_or_else(|| format!("`--set {name}`: digital, clean, hard, hostile or all"))?;
    Ok(vec![set])
}
