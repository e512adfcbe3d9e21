//! What an examination found: a line for a person, a member of an array for a machine.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and may not always.
    Warn,
    /// It does not work, or lets somebody in.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at.
    check: String,
    verdict: Verdict,
    /// What was found. Never a secret.
    found: String,
    /// What is to be done.
    advice: Option<String>,
}

/// All of it, for machines.
#[derive(Serialize)]
struct Report<'f> {
    ok: bool,
    checks: &'f [Finding],
}

impl Finding {
    pub(super) fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            verdict: Verdict::Ok,
            found: found.into(),
            advice: None,
        }
    }

    pub(super) fn warn(
        check: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warn,
            advice: Some(advice.into()),
            ..Self::ok(check, found)
        }
    }

    pub(super) fn fail(
        check: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Fail,
            ..Self::warn(check, found, advice)
        }
    }

    #[cfg(test)]
    pub(super) const fn verdict(&self) -> Verdict {
        self.verdict
    }

    pub(super) fn check(&self) -> &str {
        &self.check
    }

    fn line(&self, width: usize) -> String {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        };
        let advice = self.advice.as_ref();
        let advice = advice
            .map(|advice| format!("; {advice}"))
            .unwrap_or_default();
        // What a system or a provider says may have line breaks.
        let found = format!("{}{advice}", self.found).replace(char::is_control, " ");
        format!("{verdict:4}  {:width$}  {found}", self.check)
    }
}

/// A line each, and one that counts them.
pub(super) fn lines(findings: &[Finding]) -> Vec<String> {
    let widths = findings.iter().map(|finding| finding.check.chars().count());
    let width = widths.max().unwrap_or_default();
    let mut lines: Vec<String> = findings.iter().map(|finding| finding.line(width)).collect();
    let count = |verdict| {
        let found = findings.iter().filter(|finding| finding.verdict == verdict);
        found.count()
    };
    lines.push(format!(
        "{} ok, {} to look at, {} failed",
        count(Verdict::Ok),
        count(Verdict::Warn),
        count(Verdict::Fail)
    ));
    lines
}

/// All of it as one JSON value.
pub(super) fn json(findings: &[Finding]) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Report {
        ok: failures(findings) == 0,
        checks: findings,
    })
}

pub(super) fn failures(findings: &[Finding]) -> usize {
    let failed = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Fail);
    failed.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stand_in_columns_and_are_counted() {
        let findings = [
            Finding::ok("clock", "it is noon"),
            Finding::warn("disk space", "little", "get\nmore"),
            Finding::fail("store", "gone", "look for it"),
        ];

        assert_eq!(
            lines(&findings),
            [
                "ok    clock       it is noon",
                "warn  disk space  little; get more",
                "fail  store       gone; look for it",
                "1 ok, 1 to look at, 1 failed",
            ]
        );
        let json: serde_json::Value = serde_json::from_str(&json(&findings).unwrap()).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(
            json["checks"][2],
            serde_json::json!({"check": "store", "verdict": "fail", "found": "gone", "advice": "look for it"})
        );
    }
}
