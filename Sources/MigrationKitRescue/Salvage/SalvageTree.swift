/// A table or index of the schema, and the pages of its b-tree.
struct SalvageTree {
    /// A place in the tree at which there is no page that can be read.
    struct Hole {
        /// The page; 0 where it isn't known which it is.
        let page: Int
        /// How many pages are above it.
        let depth: Int
        /// The rows that it had, or pages below it, have rowids after this one.
        let after: Int64?
        /// And up to this one.
        let through: Int64?
        /// Whether an older version of it was read instead.
        var isOlder = false
        /// Whether it had leaves below it; `nil` if its depth shows it.
        var isInner: Bool?
    }

    let object: SchemaObject
    /// Whether the b-tree is one of rowids.
    let isTable: Bool
    /// The pages that have its rows, in the order of the rows.
    var rowPages: [Int] = []
    /// Those that were read in an older version, or are behind a page that was.
    var olderRowPages: [Int] = []
    var holes: [Hole] = []
    /// How deep its leaves lie, all alike; `nil` as long as none was reached.
    var leafDepth: Int?
    /// How many parts of it were found without what was above them.
    var attachedCount = 0

    init(_ object: SchemaObject) {
        self.object = object
        isTable = object.kind == .table && !object.isWithoutRowID
    }

    /// A part of a b-tree of which it isn't known whose it is.
    init(orphan page: Int, isTable: Bool) {
        object = SchemaObject(kind: .table, name: "", table: "", root: page, sql: nil)
        self.isTable = isTable
    }

    /// Whether a hole may have had leaves below it, and not been one itself.
    func isInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? (attachedCount > 0)
    }

    /// The same, as long as what was below it is looked for.
    func mayBeInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? true
    }

    /// Whether its rows are wanted: an index is rebuilt.
    var hasRows: Bool { object.kind == .table }
}
