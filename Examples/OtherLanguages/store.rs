// Migrates a store with a key that the program has: rustc store.rs
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};

/// The tool's exit code, and its report: JSON, on success and after an error.
fn migrate(store: &str, folder: &str, key: &[u8]) -> io::Result<(i32, String)> {
    let mut tool = Command::new("migrationkit-cli")
        .args(["migrate", "--db-path", store, "--migrations", folder])
        .args(["--password-file", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Dropped at the end of the statement: the key ends here. If the tool has ended, it says why.
    let _ = tool.stdin.take().unwrap().write_all(key);
    let output = tool.wait_with_output()?;
    let report = if output.status.success() { output.stdout } else { output.stderr };
    // A signal has no exit code.
    Ok((output.status.code().unwrap_or(70), String::from_utf8_lossy(&report).into_owned()))
}

fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().collect();
    let mut key = String::new();
    io::stdin().read_to_string(&mut key)?;
    let (code, report) = migrate(&words[1], &words[2], key.as_bytes())?;
    print!("{code} {report}");
    Ok(ExitCode::from(code as u8))
}
