// Reads a key the way a program would, for tests that need a process of its own: another terminal,
// environment, set of descriptors or limit.
//
//   KeyStoreProbe file PATH | stdin | fd N | command WORDS | prompt TEXT
//   KeyStoreProbe implicit [NAME]     the source that the environment names, then its secret
//   KeyStoreProbe memory              how the kernel keeps a new secret's memory, and after its end
//
// The secret is printed in hexadecimal; what went wrong as the error's case, with status 1.

import Foundation
import MigrationKitKeys

let arguments = Array(CommandLine.arguments.dropFirst())
let resolver = KeyResolver { InMemoryKeyStore() }

func argument(_ index: Int) -> String {
    index < arguments.count ? arguments[index] : ""
}

func show(_ source: KeySource) throws {
    let digits = try resolver.secret(from: source).withUnsafeBytes { bytes in
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    print("secret", digits)
}

/// What the kernel says of the mapping around an address; nil if there is none. Neighbours of the
/// same kind are one mapping.
func memoryFlags(_ address: UInt) throws -> String? {
    // Foundation takes the kernel's first short read for the end of the file.
    let file = FileHandle(forReadingAtPath: "/proc/self/smaps")
    var maps = Data()
    while let part = try file?.read(upToCount: 4096), !part.isEmpty { maps += part }
    var isInside = false
    for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
        let bounds = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) }
        if bounds.count == 2, let start = bounds[0], let end = bounds[1] {
            isInside = (start..<end).contains(address)
        } else if isInside, line.hasPrefix("VmFlags:") {
            return String(line.dropFirst(8))
        }
    }
    return nil
}

do {
    switch argument(0) {
    case "file": try show(.file(path: argument(1)))
    case "stdin": try show(.standardInput)
    case "fd": try show(.fileDescriptor(Int32(argument(1)) ?? -1))
    case "command": try show(.command(argument(1)))
    case "prompt": try show(.prompt(argument(1)))
    case "implicit":
        let name = arguments.count > 1 ? arguments[1] : nil
        guard let source = KeyResolver.implicitSource(promptFor: name) else {
            print("none")
            exit(0)
        }
        print(source)
        try show(source)
    case "memory":
        var secret: Secret? = Secret(utf8: "secret")
        let address = secret?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } ?? 0
        print(try memoryFlags(address) ?? "unmapped")
        print(secret?.count ?? 0)
        secret = nil
        print(try memoryFlags(address) ?? "unmapped")
    default:
        print("unknown command")
        exit(64)
    }
} catch {
    print(error)
    exit(1)
}
