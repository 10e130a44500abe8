import { oggCrc } from '../../../proxy/upload/audio/oggCrc.ts'

/** Writes audio files by hand, as large and as wrong as a test wants them. */

export interface WavOptions {
  readonly rate?: number
  readonly channels?: number
  readonly bits?: number
  /** What the head of the data chunk claims; what there is when absent. */
  readonly claimedBytes?: number
  readonly format?: number
}

/** A WAV file with so many seconds of a quiet ramp. */
export function wavFile(seconds: number, options: WavOptions = {}): Buffer {
  const { rate = 8_000, channels = 1, bits = 8, format = 1 } = options
  const bytesPerSample = channels * Math.ceil(bits / 8)
  const data = Buffer.alloc(Math.round(seconds * rate) * bytesPerSample, 0x80)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(format, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * bytesPerSample, 28)
  head.writeUInt16LE(bytesPerSample, 32)
  head.writeUInt16LE(bits, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(options.claimedBytes ?? data.length, 40)
  return Buffer.concat([head, data])
}

/** MPEG-1 layer III frames, 128 kbit/s, 44.1 kHz: 1,152 samples each. */
export function mp3Frames(count: number): Buffer {
  const frame = Buffer.alloc(417)
  Buffer.from([0xff, 0xfb, 0x90, 0x00]).copy(frame)
  return Buffer.concat(Array.from({ length: count }, () => frame))
}

/** MPEG-2.5 layer III frames, 8 kbit/s, 8 kHz: 576 samples in 72 bytes, the least that a second can take. */
export function slowMp3Frames(count: number): Buffer {
  const frame = Buffer.alloc(72)
  Buffer.from([0xff, 0xe3, 0x18, 0xc0]).copy(frame)
  return Buffer.concat(Array.from({ length: count }, () => frame))
}

/** A page of an Ogg file with whole packets, each below 255 bytes. */
export function oggPage(
  serial: number,
  packets: readonly Buffer[],
  options: { granule?: bigint; first?: boolean } = {},
): Buffer {
  const head = Buffer.alloc(27 + packets.length)
  head.write('OggS', 0, 'latin1')
  head[5] = options.first === true ? 2 : 0
  head.writeBigInt64LE(options.granule ?? 0n, 6)
  head.writeUInt32LE(serial, 14)
  head[26] = packets.length
  packets.forEach((packet, index) => {
    head[27 + index] = packet.length
  })
  const page = Buffer.concat([head, ...packets])
  page.writeUInt32LE(oggCrc(page, 0, page.length, 22), 22)
  return page
}

/** The footer of an APEv2 tag that claims so many bytes before it. */
export function apeFooter(bytes: number): Buffer {
  const footer = Buffer.alloc(32)
  footer.write('APETAGEX', 0, 'latin1')
  footer.writeUInt32LE(2_000, 8)
  footer.writeUInt32LE(32 + bytes, 12)
  return footer
}

/** What ends a Lyrics3v2 tag that claims so many bytes before it. */
export function lyricsEnd(bytes: number): Buffer {
  return Buffer.from(`${String(bytes).padStart(6, '0')}LYRICS200`, 'latin1')
}

/** An ID3v2 tag around these bytes. */
export function id3Tag(body: Buffer): Buffer {
  const head = Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')
  for (let place = 0; place < 4; place++) head[9 - place] = (body.length >> (7 * place)) & 127
  return Buffer.concat([head, body])
}

/** An Opus file of so many packets of 120 ms, two bytes each. */
export function opusFile(packets: number, granule = 0n): Buffer {
  const head = Buffer.alloc(19)
  head.write('OpusHead\x01\x01', 0, 'latin1')
  const pages = [oggPage(7, [head], { first: true }), oggPage(7, [Buffer.from('OpusTags')])]
  // Two frames of 60 ms in a packet.
  const packet = Buffer.from([(3 << 3) | 1, 0])
  for (let sent = 0; sent < packets; sent += 200) {
    const count = Math.min(200, packets - sent)
    pages.push(
      oggPage(
        7,
        Array.from({ length: count }, () => packet),
        { granule },
      ),
    )
  }
  return Buffer.concat(pages)
}
