/// When the foreign keys that a step touches are checked.
public enum MigrationForeignKeyChecks: Equatable, Sendable {
    /// All at once, after the step. During the step they are off, so that a table can be rebuilt
    /// without deleting its children. <https://www.sqlite.org/lang_altertable.html#otheralter>
    case deferred

    /// By every statement, including actions (`ON DELETE CASCADE`). Not for steps that rebuild a
    /// table.
    case immediate

    /// Never, neither by the step nor at the end of its run. For very large databases, if the step
    /// is known to violate none.
    case off
}
