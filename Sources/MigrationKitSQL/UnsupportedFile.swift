/// A file that other tools use as a part of the migrations, but that isn't supported here.
///
/// If it were silently ignored, the database would lack it.
public enum UnsupportedFile: String, Equatable, Sendable, CaseIterable {
    /// `R__name.sql`, which Flyway runs again whenever its text changes.
    case repeatable

    /// `B1__name.sql`, which Flyway runs instead of the versions before it.
    case baseline

    /// `V1__name.sql.conf`, which configures how Flyway runs a script.
    case scriptConfiguration

    /// A migration in a programming language.
    case code

    /// Recognizes a file by its name.
    ///
    /// A folder may have thousands of ordinary names, so those are recognized only by their
    /// endings.
    init?(name: String) {
        let ending = name.utf8.lastIndex(of: UInt8(ascii: ".")).map { name[$0...].dropFirst() }
        switch ending {
        case _ where name.hasPrefix("R__") && ending?.lowercased() == "sql":
            self = .repeatable
        case "sql" where name.hasPrefix("B"), "SQL" where name.hasPrefix("B"):
            guard name.prefixMatch(of: /B[0-9][0-9._]*__/) != nil else { return nil }
            self = .baseline
        case "conf" where name.wholeMatch(of: /[VUR][0-9._]*__.*\.(sql|SQL)\.conf/) != nil:
            self = .scriptConfiguration
        case "go" where name.hasSuffix("_test.go"):
            return nil
        case "go", "rs", "java", "kt":
            guard name.prefixMatch(of: /[0-9]|[VUR][0-9._]*__/) != nil else { return nil }
            self = .code
        default:
            return nil
        }
    }

    /// The reason, as the rest of a sentence that begins with the file's name.
    var reason: String {
        switch self {
        case .repeatable:
            "repeatable migrations are not supported: a migration is applied once and never changes"
        case .baseline:
            "baseline migrations are not supported: earlier migrations are applied one by one"
        case .scriptConfiguration:
            "script configurations are not supported: the file would be ignored"
        case .code:
            "a migration in a programming language can't be run"
        }
    }

    /// What to do instead.
    var advice: String {
        switch self {
        case .repeatable:
            """
            Rename it to the next version, with DROP … IF EXISTS before each CREATE, and write a new \
            version whenever it changes.
            """
        case .baseline:
            "Keep it in another folder."
        case .scriptConfiguration:
            "Remove it if the migration works without it."
        case .code:
            "Write it in SQL, or embed the library and make it a step of your own program."
        }
    }
}
