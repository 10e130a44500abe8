// Goal: no bytes at all make a file shorter than it is, make the measuring throw or make it go on for long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { measureAudio } from '../../../../../proxy/upload/audio/measure.ts'
import { limits } from '../../../../support/limits.ts'
import { slowness } from '../../../../support/parts/turnWatch.ts'
import { sampled } from '../../../../support/rounds.ts'
import { id3Tag, oggPage, opusFile, slowMp3Frames, wavFile } from '../../../../support/samples/audio.ts'
import { FLAC, MP3_VBR, OPUS, VORBIS } from '../../../../support/samples/encodedAudio.ts'
import { box, fragment, fragmentedFile, mp4File, QUIET_AAC } from '../../../../support/samples/mp4Files.ts'
import { OPUS_20, simpleBlock, webmFile } from '../../../../support/samples/webmFiles.ts'

const ENCODED = { wav: wavFile(2.5), flac: FLAC, mp3: MP3_VBR, vorbis: VORBIS, opus: OPUS }

async function secondsOf(file: Buffer): Promise<number> {
  return (await measureAudio(file, limits))?.seconds ?? 0
}

const DISGUISED: [string, Buffer][] = [
  ['MP3', slowMp3Frames(100)],
  ['MP3 behind silence', Buffer.concat([Buffer.alloc(2_000), slowMp3Frames(100)])],
  ['MP3 behind sound', Buffer.concat([Buffer.alloc(2_000, 33), slowMp3Frames(100)])],
  ['AAC', Buffer.concat(Array.from({ length: 100 }, () => Buffer.from([0xff, 0xf1, 0x6c, 0x40, 1, 0x1f, 0xfc, 0])))],
  ['AC-3', Buffer.alloc(128 * 100, Buffer.concat([Buffer.from('0b770000004000', 'hex'), Buffer.alloc(121)]))],
  ['E-AC-3', Buffer.alloc(64 * 100, Buffer.concat([Buffer.from('0b77001f008000', 'hex'), Buffer.alloc(57)]))],
  ['LOAS', Buffer.alloc(16 * 100, Buffer.concat([Buffer.from('56e00d', 'hex'), Buffer.alloc(13, 1)]))],
  ['DTS', Buffer.alloc(512 * 10, Buffer.concat([Buffer.from('7ffe8001', 'hex'), Buffer.alloc(508, 1)]))],
  ['S/PDIF', Buffer.alloc(512 * 10, Buffer.concat([Buffer.from('72f81f4e', 'hex'), Buffer.alloc(508, 1)]))],
]
for (const [name, data] of DISGUISED) {
  test(`WAV: ${name} declared as 16-bit samples has no bound`, async () => {
    const head = wavFile(data.length / 192_000, { rate: 48_000, channels: 2, bits: 16 }).subarray(0, 44)
    assert.equal(await measureAudio(Buffer.concat([head, data]), limits), null)
  })
}

test('FLAC after data that hides it from players is rejected', async () => {
  const tag = id3Tag(Buffer.alloc(20))
  assert.equal(await secondsOf(Buffer.concat([tag, FLAC])), 2.5)
  assert.equal(await measureAudio(Buffer.concat([tag, tag, FLAC]), limits), null)
  assert.equal(
    await measureAudio(Buffer.concat([tag, Buffer.alloc(2), id3Tag(slowMp3Frames(500)), FLAC]), limits),
    null,
  )
  assert.equal(await measureAudio(Buffer.concat([id3Tag(Buffer.alloc(1_200_000)), FLAC]), limits), null)
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
  test(`${name} is not measured`, async () => assert.equal(await measureAudio(file, limits), null))
}

test('a truncated file is measured up to its end, or not at all', async () => {
  for (const [name, file] of Object.entries(ENCODED)) {
    const whole = await secondsOf(file)
    for (let cut = 0; cut < file.length; cut += 7) {
      const part = await secondsOf(file.subarray(0, cut))
      assert.ok(part <= whole + 0.001, `${name} cut at ${cut}: ${part}`)
    }
  }
})

test('random bytes and changed bytes in files neither throw nor hang nor shrink the measured time to almost zero', async () => {
  const file = fc.constantFrom(...Object.values(ENCODED))
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(file, changes, fc.boolean(), async (original, edits, early) => {
      const changed = Buffer.from(original)
      for (const [at, byte] of edits) changed[at % (early ? 64 : changed.length)] = byte
      const found = await measureAudio(changed, limits)
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
      await measureAudio(Buffer.concat([start, ...pieces]), limits)
    }),
    { numRuns: 1_000 },
  )
})

const HELD_MS_MAX = 250

/** The longest time for which work lets nothing else run: of the processor, which other programs do not take away. */
async function longestHeldMs(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0
  let before = process.cpuUsage()
  const look = () => {
    const { user, system } = process.cpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    before = process.cpuUsage()
  }
  const watch = setInterval(look, 1)
  await work()
  look()
  clearInterval(watch)
  return longestMs
}

test('the largest hostile files are measured without delaying other requests', async () => {
  const bytes = 33_554_432
  const hostile: [string, () => Buffer][] = [
    ['sync bytes', () => Buffer.alloc(bytes, 0xff)],
    ['slow frames', () => slowMp3Frames(Math.floor(bytes / 72))],
    ['empty pages', () => Buffer.concat([opusFile(1), ...Array.from({ length: 300_000 }, () => oggPage(7, []))])],
    ['marks of pages', () => Buffer.concat([opusFile(1), Buffer.alloc(bytes, Buffer.from('OggS'))])],
    [
      'frames and junk',
      () => Buffer.concat([slowMp3Frames(400_000), Buffer.alloc(1_500_000, Buffer.from([0xff, 0xfb, 0x91]))]),
    ],
    ['FLAC of sync bytes', () => Buffer.concat([FLAC, Buffer.alloc(bytes, 0xff)])],
    [
      'frames of three bytes',
      () =>
        Buffer.concat([
          wavFile(0, { bits: 16 }),
          Buffer.from([1]),
          Buffer.alloc(bytes, Buffer.from(`${'56e000'.repeat(60)}01`, 'hex')),
        ]),
    ],
    ['quiet samples', () => Buffer.concat([wavFile(0, { bits: 16 }), Buffer.alloc(bytes, Buffer.from([0xe0, 0xff]))])],
    [
      'MP4 of quiet blocks',
      () => mp4File([{ samples: new Array<Buffer>(512).fill(Buffer.alloc(bytes / 512, QUIET_AAC)) }]),
    ],
    ['MP4 of short samples', () => mp4File([{ samples: new Array<Buffer>(1_000_000).fill(QUIET_AAC) }])],
    ['MP4 of names', () => mp4File([{ samples: [QUIET_AAC] }], { before: [box('mdat', Buffer.alloc(bytes, 'trun'))] })],
    ['MP4 of empty fragments', () => fragmentedFile([Buffer.alloc(bytes / 2, fragment([]))])],
    ['WebM of short packets', () => webmFile([[0, Buffer.alloc(bytes, simpleBlock([OPUS_20]))]])],
    [
      'WebM of names',
      () => webmFile([[0, simpleBlock([Buffer.alloc(bytes, Buffer.from('1f43b675', 'hex'))], { track: 2 })]]),
    ],
    ['FLAC of headers', () => Buffer.concat([FLAC, Buffer.alloc(bytes, Buffer.from([0xff, 0xf8, 0xc9, 0x08, 0x00]))])],
  ]
  for (const [name, make] of sampled(hostile, 8)) {
    const file = make()
    let [longestMs, allowedMs] = [Number.POSITIVE_INFINITY, 0]
    // The fastest of a few: a busy machine has less done in the same time, and the collector may come between.
    for (let tries = 0; tries < 3 && longestMs >= allowedMs; tries++) {
      longestMs = Math.min(longestMs, await longestHeldMs(() => measureAudio(file, limits)))
      allowedMs = HELD_MS_MAX * slowness()
    }
    assert.ok(longestMs < allowedMs, `${name} held the process for ${longestMs} ms`)
  }
})
