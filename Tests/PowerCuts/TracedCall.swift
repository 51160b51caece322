/// A system call as `strace -f -k -xx` prints it.
struct TracedCall {
    let name: String
    let arguments: [[UInt8]]
    let result: Int
    /// How many calls had ended when this one began: with several threads not all that stand
    /// before it.
    let begin: Int
    var stack: [String] = []

    /// A number, in decimal, octal or hexadecimal digits.
    func number(_ index: Int) -> Int? {
        let text = String(decoding: arguments[index], as: UTF8.self)
        return text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : Int(text)
    }

    func text(_ index: Int) -> String {
        String(decoding: arguments[index], as: UTF8.self)
    }

    /// All strings in an argument, one after the other: there are several where it is a vector.
    func bytes(_ index: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(arguments[index].count / 4)
        var isString = false
        var position = 0
        let text = arguments[index]
        while position < text.count {
            let character = text[position]
            if character == UInt8(ascii: "\"") {
                isString.toggle()
            } else if isString, character == UInt8(ascii: "\\"), position + 3 < text.count {
                bytes.append(Self.digit(text[position + 2]) << 4 | Self.digit(text[position + 3]))
                position += 3
            }
            position += 1
        }
        return bytes
    }

    func path(_ index: Int) -> String {
        String(decoding: bytes(index), as: UTF8.self)
    }

    private static func digit(_ character: UInt8) -> UInt8 {
        character <= UInt8(ascii: "9") ? character - UInt8(ascii: "0") : character - 87
    }
}

extension TracedCall {
    /// The calls of a trace, in the order in which they ended.
    static func all(in trace: [UInt8]) throws -> [TracedCall] {
        var calls: [TracedCall] = []
        var begun: [Substring: (line: [UInt8], begin: Int)] = [:]
        for line in trace.split(separator: UInt8(ascii: "\n")) {
            if line.first == UInt8(ascii: " ") {
                calls.indices.last.map { calls[$0].stack.append(frame(line)) }
                continue
            }
            guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { continue }
            let thread = Substring(decoding: line[..<space], as: UTF8.self)
            let rest = line[space...].drop { $0 == UInt8(ascii: " ") }
            if let head = rest.removing(suffix: " <unfinished ...>") {
                begun[thread] = (Array(head), calls.count)
            } else if rest.starts(with: "<... ".utf8) {
                guard let (head, begin) = begun.removeValue(forKey: thread) else { continue }
                let tail = rest.drop { $0 != UInt8(ascii: ">") }.dropFirst()
                try calls.append(TracedCall(line: head + tail, begin: begin))
            } else if rest.first != UInt8(ascii: "+"), rest.first != UInt8(ascii: "-") {
                try calls.append(TracedCall(line: Array(rest), begin: calls.count))
            }
        }
        return calls
    }

    /// " > /usr/bin/tool(function+0x21) [0x1234]"
    private static func frame(_ line: ArraySlice<UInt8>) -> String {
        let text = String(decoding: line, as: UTF8.self)
        guard let parenthesis = text.firstIndex(of: "(") else { return text }
        return String(text[parenthesis...].dropFirst().prefix { $0 != "+" && $0 != ")" })
    }

    private init(line: [UInt8], begin: Int) throws {
        let open = line.firstIndex(of: UInt8(ascii: "(")) ?? 0
        var arguments: [[UInt8]] = []
        var start = open + 1
        var depth = 0
        var isString = false
        var position = start
        reading: while position < line.count {
            switch line[position] {
            case UInt8(ascii: "\""): isString.toggle()
            case _ where isString: break
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")") where depth == 0: break reading
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ",") where depth == 0:
                arguments.append(Array(line[start..<position]))
                start = position + 2
            default: break
            }
            position += 1
        }
        arguments.append(Array(line[min(start, position)..<position]))
        let end = String(decoding: line[position...], as: UTF8.self)
        guard let equals = end.range(of: "= ") else {
            throw RecordingError.unreadable(String(decoding: line.prefix(200), as: UTF8.self))
        }
        let result = end[equals.upperBound...].prefix { $0 != " " }
        name = String(decoding: line[..<open], as: UTF8.self)
        self.arguments = arguments
        self.result =
            result.hasPrefix("0x")
            ? Int(bitPattern: UInt(result.dropFirst(2), radix: 16) ?? 0) : Int(result) ?? 0
        self.begin = begin
    }
}

extension ArraySlice<UInt8> {
    fileprivate func removing(suffix: String) -> ArraySlice<UInt8>? {
        let suffix = Array(suffix.utf8)
        return self.suffix(suffix.count).elementsEqual(suffix) ? dropLast(suffix.count) : nil
    }
}
