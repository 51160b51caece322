/// A file that other tools take for a part of the migrations, and that can't be one here.
///
/// Left alone in silence, it would be missing from the database.
public enum UnsupportedFile: String, Equatable, Sendable, CaseIterable {
    /// `R__name.sql`, which Flyway runs again whenever its text changes.
    case repeatable

    /// `B1__name.sql`, which Flyway runs in place of the versions before it.
    case baseline

    /// `V1__name.sql.conf`, which says how Flyway runs a script.
    case scriptConfiguration

    /// A migration in a programming language.
    case code

    /// Recognizes a file by its name.
    init?(name: String) {
        switch name {
        case _ where name.hasPrefix("R__") && name.lowercased().hasSuffix(".sql"):
            self = .repeatable
        case _ where name.prefixMatch(of: /B[0-9][0-9._]*__.*\.(sql|SQL)/) != nil:
            self = .baseline
        case _ where name.prefixMatch(of: /[VUR][0-9._]*__.*\.(sql|SQL)\.conf$/) != nil:
            self = .scriptConfiguration
        case _ where name.hasSuffix("_test.go"):
            return nil
        case _ where name.prefixMatch(of: /([0-9]|[VUR][0-9._]*__).*\.(go|rs|java|kt)$/) != nil:
            self = .code
        default:
            return nil
        }
    }

    /// What is wrong, as the rest of a sentence that begins with the file's name.
    var reason: String {
        switch self {
        case .repeatable:
            "a repeatable migration can't be used: a step is applied once, and never changes"
        case .baseline:
            "a baseline migration can't be used: the migrations before it are applied one by one"
        case .scriptConfiguration:
            "a configuration of a script can't be used: nothing here would follow it"
        case .code:
            "a migration that is a program can't be run"
        }
    }

    /// What to do instead.
    var advice: String {
        switch self {
        case .repeatable:
            "Make it a new version, such as V7__name.sql, whenever it changes."
        case .baseline:
            "Keep it in another folder."
        case .scriptConfiguration:
            "Remove it, if the migration can do without."
        case .code:
            "Write it in SQL, or embed the library and make it a step of your own program."
        }
    }
}
