/// A table or index of the schema, and the pages of its b-tree.
struct SalvageTree {
    /// A place in the tree where a page can't be read.
    struct Hole {
        /// The page; 0 if it isn't known.
        let page: Int
        /// How many pages are above it.
        let depth: Int
        /// Its rows, or those of pages below it, have rowids greater than this one.
        let after: Int64?
        /// Their rowids are at most this one.
        let through: Int64?
        /// Whether an older version was read instead.
        var isOlder = false
        /// Whether it had leaves below it; `nil` if its depth shows this.
        var isInner: Bool?
    }

    let object: SchemaObject
    /// Whether the b-tree has rowids as keys.
    let isTable: Bool
    /// The pages with its rows, in the order of the rows.
    var rowPages: [Int] = []
    /// The pages that were read in an older version, or were reached through one.
    var olderRowPages: [Int] = []
    var holes: [Hole] = []
    /// The depth of its leaves, which is the same for all; `nil` until one is reached.
    var leafDepth: Int?
    /// How many parts were attached to it because their parents are missing.
    var attachedCount = 0

    init(_ object: SchemaObject) {
        self.object = object
        isTable = object.kind == .table && !object.isWithoutRowID
    }

    /// A part of a b-tree whose table is unknown.
    init(orphan page: Int, isTable: Bool) {
        object = SchemaObject(kind: .table, name: "", table: "", root: page, sql: nil)
        self.isTable = isTable
    }

    /// Whether the missing page may have been an inner page, with leaves below it.
    func isInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? (attachedCount > 0)
    }

    /// The same, while the pages below it are searched.
    func mayBeInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? true
    }

    /// Whether its rows are needed. An index is rebuilt instead.
    var hasRows: Bool { object.kind == .table }
}
