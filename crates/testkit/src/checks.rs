//! What a campaign looks at, each told as it is seen, and counted for the last line.

#![expect(
    clippy::print_stdout,
    reason = "the report of a campaign is what it is for"
)]

/// Of each kind of fault, so many are told.
const TOLD: usize = 5;

/// What held so far, and what did not.
#[derive(Debug, Default)]
pub struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    /// Counts a claim, which holds where there is no fault.
    pub fn hold(&mut self, claim: &str, faults: &[String]) {
        if faults.is_empty() {
            self.passed += 1;
            println!("  holds: {claim}");
            return;
        }
        self.failed += 1;
        println!("  DOES NOT HOLD: {claim}");
        for fault in faults.iter().take(TOLD) {
            println!("    {fault}");
        }
        if faults.len() > TOLD {
            println!("    and {} more", faults.len() - TOLD);
        }
    }

    /// Counts a claim that holds or does not; `seen` is what was seen.
    pub fn that(&mut self, claim: &str, holds: bool, seen: &str) {
        let fault = (!holds).then(|| seen.to_owned());
        let claim = format!("{claim} ({seen})");
        self.hold(&claim, fault.as_slice());
    }

    /// Prints the last line.
    ///
    /// # Errors
    /// A claim does not hold.
    pub fn verdict(self) -> Result<(), String> {
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed > 0 {
            return Err(format!("{} of the claims do not hold", self.failed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_fails_its_claim_and_the_whole() {
        let mut checks = Checks::default();
        checks.hold("all is well", &[]);
        assert_eq!((checks.passed, checks.failed), (1, 0));

        checks.that("one is two", false, "1 and 2");

        assert!(checks.verdict().is_err());
    }
}
