/// The files of one migration.
enum MigrationFiles: Equatable {
    /// One file with both parts.
    case single(String)
    /// A file for each part, the second of which may be missing.
    case pair(up: String, down: String?)

    /// The file that stands for the migration.
    var main: String {
        switch self {
        case .single(let file): file
        case .pair(let up, _): up
        }
    }

    /// Puts the files of a folder together.
    ///
    /// - Parameter names: The names of all files in the folder.
    /// - Returns: The migrations by identifier, in order.
    /// - Throws: ``MigrationFolderError`` if the names don't make up a list of migrations.
    static func group(_ names: [String]) throws -> [(identifier: String, files: MigrationFiles)] {
        var groups: [String: [MigrationFileName.Role: [String]]] = [:]
        for name in names.sorted() {
            guard let parsed = MigrationFileName(name) else { continue }
            guard MigrationFileName.number(of: parsed.identifier) != nil else {
                throw MigrationFolderError.unexpectedName(file: name)
            }
            groups[parsed.identifier, default: [:]][parsed.role, default: []].append(name)
        }
        let migrations = try groups.sorted { $0.key < $1.key }
            .map { (identifier: $0.key, files: try files(of: $0.key, byRole: $0.value)) }
        try checkOneLayout(migrations.map(\.files))
        try checkOrder(migrations.map(\.identifier))
        return migrations
    }

    private static func files(
        of identifier: String,
        byRole roles: [MigrationFileName.Role: [String]]
    ) throws -> MigrationFiles {
        let isDuplicate =
            roles.values.contains { $0.count > 1 } || (roles[.single] != nil && roles.count > 1)
        guard !isDuplicate else {
            throw MigrationFolderError.duplicateIdentifier(
                identifier,
                files: roles.values.flatMap { $0 }.sorted()
            )
        }
        if let single = roles[.single]?.first {
            return .single(single)
        }
        let down = roles[.down]?.first
        guard let up = roles[.up]?.first else {
            throw MigrationFolderError.downWithoutUp(file: down ?? identifier)
        }
        return .pair(up: up, down: down)
    }

    private static func checkOneLayout(_ migrations: [MigrationFiles]) throws {
        var single: String?
        var pair: String?
        for files in migrations {
            switch files {
            case .single(let file): single = single ?? file
            case .pair(let up, _): pair = pair ?? up
            }
        }
        if let single, let pair {
            throw MigrationFolderError.mixedLayouts(single: single, pair: pair)
        }
    }

    /// Identifiers are put in order as text, which isn't the order that the author of `9_a` and
    /// `10_b` has in mind.
    private static func checkOrder(_ identifiers: [String]) throws {
        for (first, second) in zip(identifiers, identifiers.dropFirst()) {
            guard let former = MigrationFileName.number(of: first),
                let latter = MigrationFileName.number(of: second)
            else { continue }
            if (latter.count, String(latter)) < (former.count, String(former)) {
                throw MigrationFolderError.numbersOutOfOrder(first, second)
            }
        }
    }
}
