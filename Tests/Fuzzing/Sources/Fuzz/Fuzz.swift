/// libFuzzer calls from one thread only.
nonisolated(unsafe) private let everyFormat = EveryFormat()

/// What libFuzzer calls with every input: <https://llvm.org/docs/LibFuzzer.html>.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let broken = everyFormat.brokenPromise(for: bytes) {
        fatalError(broken)
    }
    return 0
}
