import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitSQLCipher

/// The SQL of `query`, from an argument, a file or standard input.
struct QuerySource {
    /// In bytes. More than this is the wrong file, not SQL.
    private static let limit = 16 << 20

    let sql: String?
    let file: String?

    /// Whether it is read from standard input.
    var isStandardInput: Bool {
        (sql ?? "-") == "-" && (file ?? "-") == "-"
    }

    func text() throws -> String {
        var bytes: [UInt8]
        if isStandardInput {
            bytes = try Self.read(STDIN_FILENO, named: "standard input")
        } else if let file {
            let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { throw CommandError.cannotRead(file, errno: errno) }
            defer { close(descriptor) }
            bytes = try Self.read(descriptor, named: file)
        } else {
            bytes = Array((sql ?? "").utf8)
        }
        guard bytes.count <= Self.limit else {
            throw CommandError.unusableSQL("it is longer than \(Self.limit.megabytes) MB")
        }
        guard !bytes.contains(0) else { throw CommandError.unusableSQL("it has a zero byte") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError.unusableSQL("it is not UTF-8 text")
        }
        return text
    }

    private static func read(_ descriptor: Int32, named name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= limit {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandError.cannotRead(name, errno: errno) }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }
}

// MARK: - Binding

/// A parameter's value, as `--bind` gives it: `NAME=VALUE`.
struct QueryBinding: ExpressibleByArgument {
    /// Without `:`, `@`, `$` or `?`.
    let name: String
    let value: QueryStatement.Value

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        let given = argument[..<sign]
        name = String(given.first.map { ":@$?".contains($0) } == true ? given.dropFirst() : given)
        guard !name.isEmpty, let value = Self.value(argument[argument.index(after: sign)...]) else {
            return nil
        }
        self.value = value
    }

    /// - Returns: `nil` for a blob whose digits are wrong.
    static func value(_ text: Substring) -> QueryStatement.Value? {
        // Everything between the first and the last quote, so that a script can put anything there.
        if text.count >= 2, text.hasPrefix("'"), text.hasSuffix("'") {
            return .text(String(text.dropFirst().dropLast()))
        }
        if text.lowercased() == "null" { return .null }
        if text.lowercased().hasPrefix("x'"), text.hasSuffix("'"), text.count >= 3 {
            return bytes(text.dropFirst(2).dropLast()).map { .blob($0) }
        }
        // 007 is a text: as a number, it would lose its zeros.
        if let number = Int64(text), number.description == text { return .integer(number) }
        let isNumber = text.allSatisfy { "0123456789+-.eE".contains($0) }
        if isNumber, text.contains(where: { ".eE".contains($0) }), let number = Double(text),
            number.isFinite
        {
            return .real(number)
        }
        return .text(String(text))
    }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let values = digits.map(\.hexDigitValue)
        guard values.count.isMultiple(of: 2), !values.contains(nil) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map {
            UInt8((values[$0] ?? 0) << 4 | (values[$0 + 1] ?? 0))
        }
    }
}

// MARK: - Errors

/// Why the SQL of `query` can't run, before SQLite sees it.
extension CommandError {
    static let noSQL = CommandError(
        ErrorCode("noSQL", .usage),
        "there is no SQL to run",
        "Give a statement as an argument, in a file (--file), or on standard input."
    )

    fileprivate static func unusableSQL(_ reason: String) -> CommandError {
        CommandError(ErrorCode("sqlInvalid", .usage), "the SQL can't be used: \(reason)")
    }

    /// - Parameter errno: Why, as errno.
    fileprivate static func cannotRead(_ name: String, errno: Int32) -> CommandError {
        let code =
            switch errno {
            case ENOENT: ErrorCode("noSuchFile", .noInput)
            case EACCES: ErrorCode("permissionDenied", .noPermission)
            default: ErrorCode("inputOutput", .inputOutput)
            }
        return CommandError(code, "\(name) can't be read: \(systemReason(errno))")
    }

    static let severalStatements = CommandError(
        ErrorCode("severalStatements", .usage),
        "the SQL has several statements",
        "Give one. With --write, several run in one transaction."
    )

    static let severalResults = CommandError(
        ErrorCode("severalStatements", .usage),
        "several statements return rows",
        "Nothing was changed. Give these statements to commands of their own."
    )

    static func unknownParameter(_ name: String, nearest: String?) -> CommandError {
        CommandError(
            ErrorCode("unknownParameter", .usage),
            "the SQL has no parameter '\(name)'",
            nearest.map { "Did you mean '\($0)'?" }
                ?? "--bind names a parameter of the SQL: 'id' for :id, @id or $id, '1' for ?1 or the "
                + "first ?."
        )
    }

    static func missingParameters(_ names: [String]) -> CommandError {
        CommandError(
            ErrorCode("missingParameter", .usage),
            "no value for \(names.count == 1 ? "the parameter" : "the parameters") "
                + names.joined(separator: ", "),
            "Give it with --bind NAME=VALUE; NULL is --bind NAME=null."
        )
    }
}
