// Goal: how long audio is follows from what is in a file. No claim of a header makes it shorter, and no bytes at all
// make the measuring throw or go on for long.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { measureAudio } from '../../../../../proxy/upload/audio/measure.ts'
import { limits } from '../../../../support/limits.ts'
import {
  apeFooter,
  id3Tag,
  lyricsEnd,
  mp3Frames,
  oggPage,
  opusFile,
  slowMp3Frames,
  wavFile,
} from '../../../../support/samples/audio.ts'
import { FLAC, MP3_VBR, OPUS, VORBIS } from '../../../../support/samples/encodedAudio.ts'

const ENCODED = { wav: wavFile(2.5), flac: FLAC, mp3: MP3_VBR, vorbis: VORBIS, opus: OPUS }

async function lengthOf(file: Buffer): Promise<{ seconds: number; secondsMax: number } | null> {
  const found = await measureAudio(file, limits)
  return found === null ? null : { seconds: found.seconds, secondsMax: found.secondsMax }
}

async function secondsOf(file: Buffer): Promise<number> {
  return (await measureAudio(file, limits))?.seconds ?? 0
}

for (const [name, file] of Object.entries(ENCODED)) {
  test(`2.5 seconds of ${name}, as an encoder writes it`, async () => {
    const found = await measureAudio(file, limits)
    assert.ok(found !== null)
    assert.equal(found.container, name === 'vorbis' || name === 'opus' ? 'ogg' : name)
    // An MP3 encoder pads with up to four frames of 72 ms.
    const padding = name === 'mp3' ? 0.3 : 0
    assert.ok(found.seconds >= 2.5 && found.seconds <= 2.5 + padding, `${found.seconds}`)
    assert.ok(found.secondsMax >= found.seconds && found.secondsMax <= found.seconds + 0.05, `${found.secondsMax}`)
  })
}

test('WAV: channels, bits and rates', async () => {
  assert.equal(await secondsOf(wavFile(3, { rate: 44_100, channels: 2, bits: 16 })), 3)
  assert.equal(await secondsOf(wavFile(3, { rate: 16_000, bits: 24 })), 3)
  assert.equal(await secondsOf(wavFile(3, { format: 7 })), 3)
  assert.equal(await measureAudio(wavFile(3, { format: 0x55 }), limits), null)
  assert.equal(await measureAudio(wavFile(0), limits), null)
})

test('WAV: a data chunk that claims too little or too much', async () => {
  assert.deepEqual(await lengthOf(wavFile(100, { claimedBytes: 8_000 })), { seconds: 1, secondsMax: 100 })
  assert.deepEqual(await lengthOf(wavFile(100, { claimedBytes: 0 })), { seconds: 100, secondsMax: 100 })
  assert.deepEqual(await lengthOf(wavFile(100, { claimedBytes: 0xffffffff })), { seconds: 100, secondsMax: 100 })
})

test('WAV: a header that claims more bytes for a second than there are', async () => {
  const file = wavFile(100, { rate: 8_000 })
  file.writeUInt16LE(1_000, 32)
  file.writeUInt32LE(8_000_000, 28)
  assert.equal(await secondsOf(file), 100)
})

test('MP3: frames count, not the claim of a Xing header', async () => {
  const frames = 1_000
  const file = mp3Frames(frames)
  const seconds = (frames * 1_152) / 44_100
  assert.equal(await secondsOf(file), seconds)
  file.write('Xing', 36, 'latin1')
  file.writeUInt32BE(1, 40)
  file.writeUInt32BE(2, 44)
  assert.deepEqual(await lengthOf(file), { seconds, secondsMax: seconds })
  file.writeUInt32BE(10_000_000, 44)
  const found = await lengthOf(file)
  assert.equal(found?.seconds, seconds)
  assert.equal(found?.secondsMax, (10_000_000 * 1_152) / 44_100)
})

test('MP3: leading and trailing tags are not audio', async () => {
  const plain = mp3Frames(100)
  const seconds = await secondsOf(plain)
  const picture = id3Tag(randomBytes(300_000))
  const id3v1 = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125, 0xff)])
  const text = Buffer.alloc(1_000, 'artist ')
  for (const file of [
    Buffer.concat([picture, plain]),
    Buffer.concat([picture, picture, plain, id3v1]),
    Buffer.concat([picture, Buffer.alloc(500), plain]),
    Buffer.concat([plain, text, apeFooter(1_000)]),
    Buffer.concat([plain, text, apeFooter(1_000), id3v1]),
    Buffer.concat([plain, text, lyricsEnd(1_000), id3v1]),
    Buffer.concat([plain, randomBytes(300_000), apeFooter(300_000)]),
  ]) {
    const found = await lengthOf(file)
    assert.ok(found !== null)
    assert.ok(Math.ceil(found.seconds) === Math.ceil(seconds), `${found.seconds}`)
    // Random bytes look like a frame here and there, which only the hold has to allow for.
    assert.ok(found.secondsMax <= seconds + (file.length - plain.length) * 20e-6, `${found.secondsMax}`)
  }
})

test('MP3: frames within a tag count, not the claim of the tag', async () => {
  const plain = mp3Frames(40)
  const hidden = slowMp3Frames(1_000)
  const spaced = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.concat([slowMp3Frames(1), Buffer.from([1])])))
  const nested = Buffer.concat([hidden, apeFooter(hidden.length)])
  const behind = [
    Buffer.concat([plain, hidden, apeFooter(hidden.length)]),
    Buffer.concat([plain, hidden, lyricsEnd(hidden.length)]),
    Buffer.concat([plain, spaced, apeFooter(spaced.length)]),
    Buffer.concat([plain, nested, lyricsEnd(nested.length)]),
    Buffer.concat([plain, nested, apeFooter(nested.length), Buffer.from('TAG'), Buffer.alloc(125)]),
  ]
  const before = [
    Buffer.concat([id3Tag(hidden), plain]),
    Buffer.concat([id3Tag(Buffer.alloc(20)), id3Tag(hidden), plain]),
  ]
  // Players skip only the tags that a file begins with.
  const behindZeros = Buffer.concat([id3Tag(Buffer.alloc(20)), Buffer.alloc(3), id3Tag(hidden), plain])
  for (const file of [...behind, ...before, behindZeros]) {
    const found = await lengthOf(file)
    assert.ok(found !== null && found.secondsMax >= 73, `${found?.secondsMax}`)
    assert.ok(found.secondsMax < 76)
    assert.ok(before.includes(file) ? found.seconds < 2 : found.seconds >= 73, `${found.seconds}`)
  }
})

test('MP3: frames within the bodies of others count', async () => {
  // 320 kbit/s at 32 kHz: 36 ms in 1,440 bytes, which also hold twenty slow frames of 72 ms, shifted by 36 bytes.
  const file = Buffer.concat([Buffer.alloc(36), slowMp3Frames(20 * 40)])
  for (let at = 0; at < file.length; at += 1_440) Buffer.from([0xff, 0xfb, 0xe8, 0]).copy(file, at)
  const found = await lengthOf(file)
  assert.ok(found !== null && found.seconds > 40 && found.seconds <= found.secondsMax, `${found?.seconds}`)
})

test('MP3: frames of another kind that hide among the others raise the bound', async () => {
  const file = Buffer.concat([mp3Frames(200), slowMp3Frames(20), mp3Frames(200)])
  const found = await lengthOf(file)
  assert.ok(found !== null)
  assert.ok(found.seconds >= (399 * 1_152) / 44_100)
  assert.ok(found.secondsMax >= (399 * 1_152) / 44_100 + 20 * 0.072)
})

test('MP3: a file with mostly other data has no bound', async () => {
  assert.equal(await measureAudio(Buffer.concat([mp3Frames(3), Buffer.alloc(100_000, 7)]), limits), null)
  assert.equal(await measureAudio(Buffer.concat([Buffer.alloc(10, 1), mp3Frames(100)]), limits), null)
  const freeFormat = mp3Frames(10)
  for (let at = 0; at < freeFormat.length; at += 417) freeFormat[at + 2] = 0
  assert.equal(await measureAudio(freeFormat, limits), null)
})

test('FLAC: frames count, not the claim of the first block', async () => {
  const total = FLAC.readUInt32BE(8 + 14)
  assert.equal(total, 20_000)
  const short = Buffer.from(FLAC)
  short.writeUInt32BE(1, 8 + 14)
  assert.deepEqual(await lengthOf(short), { seconds: 2.5, secondsMax: 2.5 })
  const long = Buffer.from(FLAC)
  long.writeUInt32BE(1_000_000_000, 8 + 14)
  assert.deepEqual(await lengthOf(long), { seconds: 2.5, secondsMax: 125_000 })
  const unknown = Buffer.from(FLAC)
  unknown.writeUInt32BE(0, 8 + 14)
  assert.deepEqual(await lengthOf(unknown), { seconds: 2.5, secondsMax: 2.5 })
  const repeated = Buffer.concat([FLAC, ...Array.from({ length: 200 }, () => FLAC.subarray(FLAC.length >> 3))])
  assert.ok(((await lengthOf(repeated))?.seconds ?? 0) > 300, 'frames that are repeated are heard again')
})

test('Ogg: packets count, not the claim of the pages', async () => {
  assert.deepEqual(await lengthOf(opusFile(1_000)), { seconds: 120, secondsMax: 120 })
  assert.deepEqual(await lengthOf(opusFile(1_000, 48_000n)), { seconds: 120, secondsMax: 120 })
  const trimmed = await lengthOf(opusFile(1_000, 120n * 48_000n - 4_800n))
  assert.deepEqual(trimmed, { seconds: 119.9, secondsMax: 120 })
  assert.ok(((await lengthOf(opusFile(200_000)))?.secondsMax ?? 0) > 4 * 3_600)
})

test('Ogg: streams one after the other add up, and streams of another kind have no bound', async () => {
  const both = await lengthOf(Buffer.concat([VORBIS, OPUS, opusFile(100)]))
  assert.equal(both?.seconds, 17)
  const other = oggPage(1, [Buffer.from('Speex   ')], { first: true })
  assert.equal(await measureAudio(Buffer.concat([other, OPUS]), limits), null)
  const many = Array.from({ length: 70 }, (_, serial) => oggPage(serial, [Buffer.from('fishead\0')], { first: true }))
  assert.equal(await measureAudio(Buffer.concat(many), limits), null)
})

test('Ogg: pages within a damaged page count, and many damaged pages have no bound', async () => {
  const hidden = opusFile(4_000)
  const damaged = Array.from({ length: 40 }, (_, at) => {
    const page = oggPage(8, [Buffer.from('fishead\0'), hidden.subarray(at * 200, (at + 1) * 200)], { first: at === 0 })
    page.writeUInt8(page.readUInt8(22) ^ 1, 22)
    return page
  })
  assert.equal(await measureAudio(Buffer.concat([opusFile(10), ...damaged]), limits), null)
  const inner = oggPage(
    7,
    Array.from({ length: 50 }, () => Buffer.from([25, 0])),
  )
  const outer = oggPage(8, [Buffer.from('fishead\0'), inner], { first: true })
  assert.equal(await secondsOf(Buffer.concat([opusFile(10), outer])), 1.2)
  outer.writeUInt8(outer.readUInt8(22) ^ 1, 22)
  assert.equal(await secondsOf(Buffer.concat([opusFile(10), outer])), 1.2 + 6)
})

test('Ogg: FLAC frames that share a packet all count', async () => {
  const head = Buffer.concat([Buffer.from('\x7fFLAC\x01\0\0\x01', 'latin1'), FLAC.subarray(0, 42)])
  const frame = FLAC.subarray(FLAC.indexOf(Buffer.from([0xff, 0xf8]))).subarray(0, 60)
  const file = (frames: readonly Buffer[]) =>
    Buffer.concat([oggPage(1, [head], { first: true }), oggPage(1, [Buffer.concat(frames)])])
  const one = await lengthOf(file([frame]))
  const four = await lengthOf(file([frame, frame, frame, frame]))
  assert.ok(one !== null && one.secondsMax > 0)
  assert.equal(four?.seconds, one.seconds * 4)
})

test('Ogg: a Vorbis stream with headers among its audio has no bound', async () => {
  const header = Buffer.concat([Buffer.from('\x01vorbis'), Buffer.alloc(23)])
  const serial = VORBIS.readUInt32LE(14)
  assert.equal(await measureAudio(Buffer.concat([VORBIS, oggPage(serial, [header])]), limits), null)
})

test('WAV: 16-bit samples of any loudness are measured', async () => {
  for (const scale of [3, 200, 8_000, 65_535]) {
    const samples = Int16Array.from({ length: 100_000 }, () => Math.round((Math.random() - 0.5) * scale))
    const head = wavFile(0, { rate: 8_000, bits: 16 })
    head.writeUInt32LE(samples.byteLength, 40)
    assert.equal(await secondsOf(Buffer.concat([head, Buffer.from(samples.buffer)])), 12.5)
  }
})
