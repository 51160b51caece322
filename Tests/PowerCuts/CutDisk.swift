/// The states of the disk that a power cut can leave, for one cut after the other.
///
/// What is pending at a cut are the operations that no synchronization has covered. What is on the
/// disk by then is kept between cuts, so that those in the order of their prefixes are cheap.
package struct CutDisk {
    private let recording: Recording
    /// From which prefix on an operation is on the disk; `nil`: never.
    private let durableFrom: [Int?]
    private var base: Disk
    private var basePrefix = 0
    private var pending: [Int] = []

    /// - Parameter ignored: The place of a synchronization that the disk ignores.
    package init(_ recording: Recording, ignoring ignored: Int? = nil) {
        self.recording = recording
        var durableFrom = [Int?](repeating: nil, count: recording.operations.count)
        for (index, sync) in recording.operations.enumerated() where index != ignored {
            let end: Int
            let file: Int?
            switch sync.kind {
            case .syncFile(let number, let begin): (file, end) = (number, begin)
            case .syncFolder(let begin): (file, end) = (nil, begin)
            default: continue
            }
            for place in 0..<min(end, index) where durableFrom[place] == nil {
                let operation = recording.operations[place]
                if operation.isChange, operation.changedFile == file {
                    durableFrom[place] = index + 1
                }
            }
        }
        self.durableFrom = durableFrom
        base = Disk(recording)
    }

    /// Goes to a cut after so many operations.
    package mutating func move(to prefix: Int) {
        if prefix < basePrefix {
            base = Disk(recording)
            basePrefix = 0
            pending = []
        }
        while basePrefix < prefix {
            if recording.operations[basePrefix].isChange { pending.append(basePrefix) }
            basePrefix += 1
            var rest: [Int] = []
            for index in pending {
                if let from = durableFrom[index], from <= basePrefix {
                    base.apply(recording.operations[index])
                } else {
                    rest.append(index)
                }
            }
            pending = rest
        }
    }

    /// What may be lost at this cut, one by one and in random sets.
    ///
    /// - Parameters:
    ///   - randomCount: How many random sets.
    ///   - seed: What they are made of.
    package func losses(randomCount: Int, seed: UInt64) -> [Cut.Loss] {
        var losses: [Cut.Loss] = [.nothing]
        guard let last = pending.last else { return losses }
        losses.append(.everything)
        if pending.count > 1 {
            losses += pending.map(Cut.Loss.only) + pending.map(Cut.Loss.allBut)
        }
        for index in pending {
            guard case .write = recording.operations[index].kind else { continue }
            losses += [.content(index), .size(index)]
        }
        // The last write is the one that the cut tears.
        if last == basePrefix - 1,
            case .write(_, let offset, let bytes) = recording.operations[last].kind
        {
            let count = Disk.sectors(offset, bytes.count).count
            for sectors in stride(from: 1, to: min(count, 64), by: 1) {
                losses += [.tail(sectors: sectors), .head(sectors: sectors)]
            }
        }
        var generator = SeededGenerator(seed: seed &+ UInt64(basePrefix) &* 0x1_0000_0001)
        losses += (0..<randomCount).map { _ in .random(seed: generator.next() >> 16) }
        return losses
    }

    /// The files after a cut at this place.
    package func files(_ loss: Cut.Loss) -> [String: [UInt8]] {
        var disk = base
        let portions: [Disk.Portion]
        switch loss {
        case .everything: portions = pending.map { _ in .none }
        case .nothing: portions = pending.map { _ in .all }
        case .only(let lost): portions = pending.map { $0 == lost ? .none : .all }
        case .allBut(let kept): portions = pending.map { $0 == kept ? .all : .none }
        case .content(let index):
            portions = pending.map { $0 == index ? .part(sectors: 0, size: true) : .all }
        case .size(let index):
            portions = pending.map { $0 == index ? .part(sectors: .max, size: false) : .all }
        case .tail(let kept):
            let sectors: UInt64 = (1 << UInt64(kept)) - 1
            portions = pending.map {
                $0 == pending.last ? .part(sectors: sectors, size: true) : .all
            }
        case .head(let lost):
            let sectors = ~((1 << UInt64(lost)) - 1 as UInt64)
            portions = pending.map {
                $0 == pending.last ? .part(sectors: sectors, size: true) : .all
            }
        case .random(let seed):
            var generator = SeededGenerator(seed: seed)
            if generator.next() % 4 == 0 { disk.filler = UInt8(truncatingIfNeeded: seed) }
            let likelihood = [10, 30, 50, 70, 90][Int(generator.next() % 5)]
            let tears = generator.next() % 2 == 0
            portions = pending.map { _ in
                Self.portion(&generator, likelihood: likelihood, tears: tears)
            }
        }
        for (index, portion) in zip(pending, portions) {
            disk.apply(recording.operations[index], portion)
        }
        return disk.files
    }

    private static func portion(
        _ generator: inout SeededGenerator,
        likelihood: Int,
        tears: Bool
    ) -> Disk.Portion {
        func happens() -> Bool { generator.next() % 100 < UInt64(likelihood) }
        guard tears else { return happens() ? .all : .none }
        let size = happens()
        switch generator.next() % 3 {
        case 0: return size ? .all : .none
        case 1: return .part(sectors: generator.next() & generator.next(), size: size)
        default: return .part(sectors: generator.next() | generator.next(), size: size)
        }
    }

    /// What the key store holds at this cut.
    package var keys: [UInt8] {
        for operation in recording.operations[..<basePrefix].reversed() {
            if case .keyStore(let content) = operation.kind { return content }
        }
        return recording.initialKeys
    }
}
