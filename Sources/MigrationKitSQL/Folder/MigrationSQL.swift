/// The SQL of a step, as written in its files.
public struct MigrationSQL: Equatable, Sendable {
    let scripts: MigrationScripts

    init(_ scripts: MigrationScripts) {
        self.scripts = scripts
    }

    /// What applies the step, without its checks.
    public var up: String { scripts.up.text }

    /// What takes it back; `nil` if nothing does.
    public var down: String? { scripts.down?.text }

    /// Whether both have the same SQL, and the same checks.
    public static func == (left: MigrationSQL, right: MigrationSQL) -> Bool {
        left.up == right.up && left.down == right.down
            && left.scripts.requirements.map(\.sql) == right.scripts.requirements.map(\.sql)
            && left.scripts.checks.map(\.sql) == right.scripts.checks.map(\.sql)
    }
}

extension MigrationSQL {
    /// The statements that apply the step, in the order in which they run, with its checks.
    package var upStatements: [ScriptStatement] { scripts.upStatements }

    /// The statements that take it back.
    package var downStatements: [ScriptStatement] { scripts.down?.statements ?? [] }

    /// The files of the step, each with its name and its text. Both parts may be in one.
    package var files: [(name: String, bytes: [UInt8])] {
        let up = scripts.up.file
        guard let down = scripts.down?.file, down.name != up.name else {
            return [(up.name, up.bytes)]
        }
        return [(up.name, up.bytes), (down.name, down.bytes)]
    }

    /// Whether the step runs in a transaction.
    package var usesTransaction: Bool { scripts.usesTransaction }
}
