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

    /// `1_name.up.ddl`: golang-migrate runs files of any ending.
    case otherEnding

    /// A folder `name` with `up.sql` among diesel's folders: diesel takes any text for a version.
    case unnumberedFolder

    /// A name whose bytes aren't UTF-8, so that no identifier can be made of it.
    case otherEncoding

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
        case .otherEnding:
            "golang-migrate would run this file, which doesn't end in .sql"
        case .unnumberedFolder:
            "diesel would run the up.sql of this folder, whose name doesn't begin with a number"
        case .otherEncoding:
            "the name is not UTF-8"
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
        case .otherEnding:
            "Let its name end in .sql, or move it if it is not a migration."
        case .unnumberedFolder:
            "Put a number before its name, or move it if it is not a migration."
        case .otherEncoding:
            "Rename it, or move it if it is not a migration. Its bytes that aren't UTF-8 are shown as \u{FFFD}."
        }
    }
}
