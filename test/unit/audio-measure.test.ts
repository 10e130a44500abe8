// Goal: how long audio is follows from what is in a file. No claim of a header makes it shorter, and no bytes at all
// make the measuring throw or go on for long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { measureAudio } from '../../proxy/audio/measure.ts'
import { mp3Frames, oggPage, opusFile, slowMp3Frames, wavFile } from '../support/audio.ts'
import { FLAC, MP3_VBR, OPUS, VORBIS } from '../support/encodedAudio.ts'

const ENCODED = { wav: wavFile(2.5), flac: FLAC, mp3: MP3_VBR, vorbis: VORBIS, opus: OPUS }

async function lengthOf(file: Buffer): Promise<{ seconds: number; secondsMax: number } | null> {
  const found = await measureAudio(file)
  return found === null ? null : { seconds: found.seconds, secondsMax: found.secondsMax }
}

async function secondsOf(file: Buffer): Promise<number> {
  return (await measureAudio(file))?.seconds ?? 0
}

for (const [name, file] of Object.entries(ENCODED)) {
  test(`2.5 seconds of ${name}, as an encoder writes it`, async () => {
    const found = await measureAudio(file)
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
  assert.equal(await measureAudio(wavFile(3, { format: 0x55 })), null)
  assert.equal(await measureAudio(wavFile(0)), null)
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

test('MP3: frames count, whatever a Xing header says', async () => {
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

test('MP3: tags before and behind are no sound', async () => {
  const plain = mp3Frames(100)
  const seconds = await secondsOf(plain)
  const id3 = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x20\0', 'latin1'), slowMp3Frames(57).subarray(0, 4_096)])
  const id3v1 = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125, 0xff)])
  const ape = Buffer.alloc(32)
  ape.write('APETAGEX', 0, 'latin1')
  ape.writeUInt32LE(32 + 1_000, 12)
  for (const file of [
    Buffer.concat([id3, plain]),
    Buffer.concat([id3, id3, plain, id3v1]),
    Buffer.concat([plain, Buffer.alloc(1_000, 0xfb), ape]),
    Buffer.concat([plain, Buffer.alloc(1_000, 0xfb), ape, id3v1]),
  ]) {
    assert.deepEqual(await lengthOf(file), { seconds, secondsMax: seconds })
  }
})

test('MP3: frames of another kind that hide among the others raise the bound', async () => {
  const file = Buffer.concat([mp3Frames(200), slowMp3Frames(20), mp3Frames(200)])
  const found = await lengthOf(file)
  assert.ok(found !== null)
  assert.ok(found.seconds >= (399 * 1_152) / 44_100)
  assert.ok(found.secondsMax >= (399 * 1_152) / 44_100 + 20 * 0.072)
})

test('MP3: a file that is mostly something else has no bound', async () => {
  assert.equal(await measureAudio(Buffer.concat([mp3Frames(3), Buffer.alloc(100_000, 7)])), null)
  assert.equal(await measureAudio(Buffer.concat([Buffer.alloc(10, 1), mp3Frames(100)])), null)
  const freeFormat = mp3Frames(10)
  for (let at = 0; at < freeFormat.length; at += 417) freeFormat[at + 2] = 0
  assert.equal(await measureAudio(freeFormat), null)
})

test('FLAC: frames count, whatever the first block claims', async () => {
  const total = FLAC.readUInt32BE(8 + 14)
  assert.equal(total, 20_000)
  const short = Buffer.from(FLAC)
  short.writeUInt32BE(10, 8 + 14)
  // Chance is allowed for, so a small lie passes; the bound holds what is there.
  assert.deepEqual((await lengthOf(short))?.secondsMax, 2.5)
  const long = Buffer.from(FLAC)
  long.writeUInt32BE(1_000_000_000, 8 + 14)
  assert.deepEqual(await lengthOf(long), { seconds: 2.5, secondsMax: 125_000 })
  const unknown = Buffer.from(FLAC)
  unknown.writeUInt32BE(0, 8 + 14)
  assert.deepEqual(await lengthOf(unknown), { seconds: 2.5, secondsMax: 2.5 })
  const repeated = Buffer.concat([FLAC, ...Array.from({ length: 200 }, () => FLAC.subarray(FLAC.length >> 3))])
  assert.ok(((await lengthOf(repeated))?.seconds ?? 0) > 300, 'frames that are repeated are heard again')
})

test('Ogg: packets count, whatever the pages claim', async () => {
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
  assert.equal(await measureAudio(Buffer.concat([other, OPUS])), null)
  const many = Array.from({ length: 70 }, (_, serial) => oggPage(serial, [Buffer.from('fishead\0')], { first: true }))
  assert.equal(await measureAudio(Buffer.concat(many)), null)
})

const OTHERS: [string, Buffer][] = [
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('hello, this is no audio')],
  ['MP4', Buffer.from('\0\0\0\x20ftypM4A \0\0\0\0M4A mp42isom', 'latin1')],
  ['WebM', Buffer.from('1a45dfa3934282886d6174726f736b61', 'hex')],
  ['ADTS', Buffer.concat(Array.from({ length: 100 }, () => Buffer.from([0xff, 0xf1, 0x50, 0x80, 1, 0x1f, 0xfc, 0])))],
  ['an ID3 tag alone', Buffer.from('ID3\x04\0\0\0\0\x20\0', 'latin1')],
]
for (const [name, file] of OTHERS) {
  test(`${name} is not measured`, async () => assert.equal(await measureAudio(file), null))
}

test('a file that stops anywhere is measured as far as it goes, or not at all', async () => {
  for (const [name, file] of Object.entries(ENCODED)) {
    const whole = await secondsOf(file)
    for (let cut = 0; cut < file.length; cut += 7) {
      const part = await secondsOf(file.subarray(0, cut))
      assert.ok(part <= whole + 0.001, `${name} cut at ${cut}: ${part}`)
    }
  }
})

test('random bytes, and files with bytes changed, neither throw nor hang nor shrink to nothing of a claim', async () => {
  const file = fc.constantFrom(...Object.values(ENCODED))
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(file, changes, fc.boolean(), async (original, edits, early) => {
      const changed = Buffer.from(original)
      for (const [at, byte] of edits) changed[at % (early ? 64 : changed.length)] = byte
      const found = await measureAudio(changed)
      assert.ok(found === null || (found.seconds > 0 && found.secondsMax >= found.seconds))
    }),
    { numRuns: 1_000 },
  )
  const starts = ['RIFF\0\0\0\0WAVE', 'OggS', 'fLaC', 'ID3', '\xff\xfb\x90\0', '\xff\xf8'].map((text) =>
    Buffer.from(text, 'latin1'),
  )
  const piece = fc.oneof(
    fc.constantFrom(...starts),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...starts), fc.array(piece, { maxLength: 30 }), async (start, pieces) => {
      await measureAudio(Buffer.concat([start, ...pieces]))
    }),
    { numRuns: 1_000 },
  )
})

test('the largest hostile files are measured without holding up everybody else', async () => {
  const bytes = 33_554_432
  const hostile: [string, Buffer][] = [
    ['sync bytes', Buffer.alloc(bytes, 0xff)],
    ['slow frames', slowMp3Frames(Math.floor(bytes / 72))],
    ['empty pages', Buffer.concat([opusFile(1), ...Array.from({ length: 300_000 }, () => oggPage(7, []))])],
    ['marks of pages', Buffer.concat([opusFile(1), Buffer.alloc(bytes, Buffer.from('OggS'))])],
    [
      'frames and junk',
      Buffer.concat([slowMp3Frames(400_000), Buffer.alloc(1_500_000, Buffer.from([0xff, 0xfb, 0x91]))]),
    ],
    ['FLAC of sync bytes', Buffer.concat([FLAC, Buffer.alloc(bytes, 0xff)])],
    ['FLAC of headers', Buffer.concat([FLAC, Buffer.alloc(bytes, Buffer.from([0xff, 0xf8, 0xc9, 0x08, 0x00]))])],
  ]
  for (const [name, file] of hostile) {
    // Time of the processor, which other programs do not take away.
    let longestMs = 0
    let before = process.cpuUsage()
    const look = () => {
      const { user, system } = process.cpuUsage(before)
      longestMs = Math.max(longestMs, (user + system) / 1_000)
      before = process.cpuUsage()
    }
    const watch = setInterval(look, 1)
    await measureAudio(file)
    look()
    clearInterval(watch)

    assert.ok(longestMs < 250, `${name} held the process for ${longestMs} ms`)
  }
})
