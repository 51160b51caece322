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
            guard descriptor >= 0 else { throw QueryInputError.cannotRead(file, code: errno) }
            defer { close(descriptor) }
            bytes = try Self.read(descriptor, named: file)
        } else {
            bytes = Array((sql ?? "").utf8)
        }
        guard bytes.count <= Self.limit else {
            throw QueryInputError.unusable("it is longer than \(Self.limit.megabytes) MB")
        }
        guard !bytes.contains(0) else { throw QueryInputError.unusable("it has a zero byte") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw QueryInputError.unusable("it is not UTF-8 text")
        }
        return text
    }

    private static func read(_ descriptor: Int32, named name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= limit {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw QueryInputError.cannotRead(name, code: errno) }
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

// MARK: - Error

/// Why the SQL of `query` can't run, before SQLite sees it.
enum QueryInputError: Error, Equatable {
    case noSQL
    case unusable(String)
    case cannotRead(String, code: Int32)
    case severalStatements
    case severalResults
    case unknownParameter(String, nearest: String?)
    case missingParameters([String])
}

extension QueryInputError: CodedError {
    var errorDescription: String? {
        switch self {
        case .noSQL: "there is no SQL to run"
        case .unusable(let reason): "the SQL can't be used: \(reason)"
        case .cannotRead(let name, let code): "\(name) can't be read: \(systemReason(code))"
        case .severalStatements: "the SQL has several statements"
        case .severalResults: "several statements return rows"
        case .unknownParameter(let name, _): "the SQL has no parameter '\(name)'"
        case .missingParameters(let names):
            "no value for \(names.count == 1 ? "the parameter" : "the parameters") "
                + names.joined(separator: ", ")
        }
    }

    var recoverySuggestion: String? {
        switch self {
        case .noSQL: "Give a statement as an argument, in a file (--file), or on standard input."
        case .unusable, .cannotRead: nil
        case .severalStatements: "Give one. With --write, several run in one transaction."
        case .severalResults: "Nothing was changed. Give these statements to commands of their own."
        case .unknownParameter(_, let nearest?): "Did you mean '\(nearest)'?"
        case .unknownParameter:
            "--bind names a parameter of the SQL: 'id' for :id, @id or $id, '1' for ?1 or the first ?."
        case .missingParameters: "Give it with --bind NAME=VALUE; NULL is --bind NAME=null."
        }
    }

    var code: ErrorCode {
        switch self {
        case .noSQL: ErrorCode("noSQL", .usage)
        case .unusable: ErrorCode("sqlInvalid", .usage)
        case .cannotRead(_, ENOENT): ErrorCode("noSuchFile", .noInput)
        case .cannotRead(_, EACCES): ErrorCode("permissionDenied", .noPermission)
        case .cannotRead: ErrorCode("inputOutput", .inputOutput)
        case .severalStatements, .severalResults: ErrorCode("severalStatements", .usage)
        case .unknownParameter: ErrorCode("unknownParameter", .usage)
        case .missingParameters: ErrorCode("missingParameter", .usage)
        }
    }
}
