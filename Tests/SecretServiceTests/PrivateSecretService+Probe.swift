import TestSupport

extension PrivateSecretService {
    /// Runs the probe on this service's bus.
    func probe(
        _ arguments: String...,
        input: String = "",
        settings: [String: String] = [:]
    ) throws -> ProcessResult {
        try run(
            builtExecutable("SecretServiceProbe"),
            arguments,
            input: input,
            environment: settings
        )
    }

    /// Stores an item with secret-tool.
    func storeBySecretTool(_ attributes: String..., secret: String) throws {
        let result = try run(
            "secret-tool",
            ["store", "--label=by secret-tool"] + attributes,
            input: secret
        )
        guard result.status == 0 else { throw Failure(description: result.stderr) }
    }

    /// A text that no other test uses.
    static func newSecret() -> String {
        "secret \(UInt64.random(in: 0...UInt64.max))"
    }
}

extension String {
    /// The UTF-8 bytes in hexadecimal, as the probe prints a key.
    var hexadecimal: String {
        utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
