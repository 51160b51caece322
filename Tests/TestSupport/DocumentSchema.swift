import Foundation
import Testing

/// The JSON Schema of what the tool prints with `--json`, and a validator for it.
public enum DocumentSchema {
    /// The path of the schema in the package.
    public static let path = "Schemas/migrationkit-cli.schema.json"

    /// The folder of what the commands have printed in scenes, as a path in the package.
    public static let outputSnapshots = "Tests/EndToEndTests/Snapshots/Output"

    /// A document, and the definition of the schema that it has to follow.
    public struct Document: Codable, Sendable {
        /// The name of the definition.
        public let definition: String
        /// The document as it was printed.
        public let text: String

        /// A document that has to follow a definition.
        public init(definition: String, text: String) {
            self.definition = definition
            self.text = text
        }

        /// The documents that a command has printed.
        public static func all(of words: [String], output: String, errorOutput: String)
            -> [Document]
        {
            let definition = definition(of: words)
            guard words.contains("--json") || definition == "schema-dump-format-json" else {
                return []
            }
            // Warnings may stand before the error.
            let error = errorOutput.split(separator: "\n").last { $0.hasPrefix("{") }
            return [
                output.isEmpty ? nil : Document(definition: definition, text: output),
                error.map { Document(definition: "error", text: String($0)) },
            ].compactMap(\.self)
        }

        private static func definition(of words: [String]) -> String {
            let isWritten = words.contains("--output") || words.contains("--check")
            switch (words[0], words.dropFirst().first) {
            case ("key", let command?): return "key-\(command)"
            case ("fleet", "report"?): return "fleet-report"
            case ("explain", "--json"?): return "explain-list"
            case ("--version", _): return "version"
            case ("status", _) where words.contains("--show-settings"):
                return "status-show-settings"
            case ("migrate", _) where words.contains("--dry-run"): return "migrate-dry-run"
            case ("downgrade", _) where words.contains("--dry-run"): return "downgrade-dry-run"
            case ("upgrade", _) where words.contains("--dry-run"): return "upgrade-dry-run"
            case ("create", _) where words.contains("--to"): return "create-to"
            case ("repair", _) where words.contains("--schema"): return "repair-schema"
            case ("schema-dump", _) where words.contains("--check"): return "schema-dump-check"
            case ("schema-dump", "--format") where words[2] == "json" && !isWritten:
                return "schema-dump-format-json"
            default: return words[0]
            }
        }
    }

    /// What the validator says against documents, a line each; empty where all is well.
    public static func complaints(about documents: [Document]) throws -> String {
        try run(
            """
            for document in documents:
                value = json.loads(document["text"])
                for error in validator(document["definition"]).iter_errors(value):
                    print(document["definition"], error.json_path, error.message)
                if not validator().is_valid(value):
                    print(document["definition"], "is refused by the schema as a whole")
            """,
            documents
        )
    }

    /// Runs a program that has the schema as `schema`, documents as `documents`, and `validator`,
    /// which takes a definition's name.
    public static func run(_ program: String, _ documents: [Document]) throws -> String {
        let beginning = """
            import copy, json, sys
            from jsonschema import Draft202012Validator

            path, documents = json.load(sys.stdin)
            schema = json.load(open(path))

            def validator(name=None):
                part = {"$ref": "#/$defs/" + name, "$defs": schema["$defs"]} if name else schema
                return Draft202012Validator(
                    part, format_checker=Draft202012Validator.FORMAT_CHECKER)


            """
        return try Python.output(
            of: beginning + program,
            input: [
                PackageFolder.path(path),
                documents.map { ["definition": $0.definition, "text": $0.text] },
            ]
        )
    }

    /// The documents of a transcript, told from its lines.
    public static func documents(in transcript: String) -> [Document] {
        ("\n" + transcript).components(separatedBy: "\n$ migrationkit-cli ").dropFirst()
            .flatMap { block -> [Document] in
                let words = block.prefix { $0 != "\n" }.split(separator: " ").map(String.init)
                let rest = block.dropFirst(block.prefix { $0 != "\n" }.count + 1)
                    .components(separatedBy: "\n# ")[0]
                    .components(separatedBy: "--- exit")[0]
                let parts = rest.components(separatedBy: "--- standard error\n")
                return Document.all(
                    of: words,
                    output: parts[0],
                    errorOutput: parts.dropFirst().first ?? ""
                )
            }
    }
}
