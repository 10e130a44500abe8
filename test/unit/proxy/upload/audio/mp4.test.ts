// Goal: how long the sound of an MP4 file is follows from its samples and what they hold. Nothing that it states makes it
// shorter, and where players may find more sound than was measured, there is no bound.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertDamageMeasured, soundLength } from '../../../../support/parts/measuredAudio.ts'
import { AAC_M4A } from '../../../../support/samples/encodedMovies.ts'
import {
  box,
  fragment,
  fragmentedFile,
  fullBox,
  mp4File,
  QUIET_AAC,
  type SoundTrack,
  sampleEntry,
  uints,
} from '../../../../support/samples/mp4Files.ts'
import { OPUS_20, OPUS_120 } from '../../../../support/samples/webmFiles.ts'

/** A block of 1,024 samples at 48 kHz. */
const BLOCK_SECONDS = 1_024 / 48_000

function times(count: number, sample: Buffer): readonly Buffer[] {
  return Array.from({ length: count }, () => sample)
}

const lengthOf = (file: Buffer) => soundLength(file, 'mp4')

/** Asserts the seconds of sound, and the bound where it is another one. */
async function assertLength(file: Buffer, seconds: number, secondsMax = seconds): Promise<void> {
  const found = await lengthOf(file)
  assert.ok(found !== null, 'no bound')
  assert.ok(Math.abs(found.seconds - seconds) < 1e-6, `${found.seconds}, not ${seconds}`)
  assert.ok(Math.abs(found.secondsMax - secondsMax) < 1e-6, `at most ${found.secondsMax}, not ${secondsMax}`)
}

const HUNDRED = 100 * BLOCK_SECONDS
const QUIET: SoundTrack = { samples: times(100, QUIET_AAC) }
const PICTURES: SoundTrack = {
  id: 2,
  samples: times(3, Buffer.alloc(500, 7)),
  handler: 'vide',
  tables: { stsd: fullBox('stsd', 0, uints(1), box('avc1', Buffer.alloc(78))) },
}

test('2.5 seconds of AAC, as an encoder writes it', async () => {
  // Encoders begin with a block of silence, and fill the last one.
  await assertLength(AAC_M4A, (41 * 1_024) / 16_000)
})

const LAYOUTS: [string, Buffer, number][] = [
  ['the list of samples behind them', mp4File([QUIET]), HUNDRED],
  ['the list of samples before them', mp4File([QUIET], { listFirst: true }), HUNDRED],
  ['samples in chunks', mp4File([{ ...QUIET, perChunk: 7, tables: chunksOf7() }]), HUNDRED],
  ['a track of pictures beside it', mp4File([PICTURES, QUIET]), HUNDRED],
  ['two tracks of sound', mp4File([QUIET, { id: 2, samples: times(150, QUIET_AAC) }]), 1.5 * HUNDRED],
  ['ALAC', mp4File([{ codec: 'alac', samples: times(10, Buffer.alloc(20)), ticks: 4_096 }]), 40_960 / 48_000],
  ['Opus', mp4File([{ codec: 'Opus', samples: [...times(5, OPUS_20), ...times(5, OPUS_120)], ticks: 960 }]), 0.7],
  ['HE-AAC, whose rate is its core', mp4File([{ ...QUIET, config: Buffer.from([0x2b, 0x11, 0x88]) }]), 2 * HUNDRED],
  ['an edit that leaves out the beginning', mp4File([{ ...QUIET, edits: [[2_112, 100_000]] }]), HUNDRED],
  [
    'in fragments',
    fragmentedFile([fragment(times(50, QUIET_AAC)), fragment(times(50, QUIET_AAC), { time: 51_200 })]),
    HUNDRED,
  ],
]
for (const [name, file, seconds] of LAYOUTS) {
  test(`MP4: ${name}`, async () => assertLength(file, seconds))
}

function chunksOf7(): Readonly<Record<string, Buffer>> {
  return { stsc: fullBox('stsc', 0, uints(2, 1, 7, 1, 15, 2, 1)) }
}

// What states less than there is changes nothing; what states more raises the bound.
const STATED: [string, Buffer, number, number?][] = [
  ['understated times of samples', mp4File([{ ...QUIET, ticks: 2 }]), HUNDRED],
  ['no times of samples', mp4File([{ ...QUIET, tables: { stts: fullBox('stts', 0, uints(0)) } }]), HUNDRED],
  ['an understated duration of the track', mp4File([{ ...QUIET, duration: 1 }]), HUNDRED],
  ['a tick of a nanosecond', mp4File([{ ...QUIET, timescale: 1_000_000_000 }]), HUNDRED],
  ['a tick of a second', mp4File([{ ...QUIET, timescale: 1, ticks: 10, duration: 0 }]), HUNDRED, 1_000],
  ['a timescale of nothing', mp4File([{ ...QUIET, timescale: 0, ticks: 10, duration: 0 }]), HUNDRED, 1_000],
  ['an overstated duration of the track', mp4File([{ ...QUIET, duration: 48_000 * 60 }]), HUNDRED, 60],
  ['an overstated duration of the file', mp4File([QUIET], { seconds: 90 }), HUNDRED, 90],
  [
    'silence before the track',
    mp4File([
      {
        ...QUIET,
        edits: [
          [-1, 5_000],
          [0, 1],
        ],
      },
    ]),
    HUNDRED,
    HUNDRED + 5,
  ],
  [
    'a fragment that begins late',
    fragmentedFile([fragment([QUIET_AAC]), fragment([QUIET_AAC], { time: 480_000 })]),
    2 * BLOCK_SECONDS,
    10 + BLOCK_SECONDS,
  ],
  ['blocks that share a sample', mp4File([{ samples: times(5, Buffer.concat(times(20, QUIET_AAC))) }]), HUNDRED],
  ['zeros behind a block', mp4File([{ samples: times(100, Buffer.concat([QUIET_AAC, Buffer.alloc(3)])) }]), HUNDRED],
  [
    'a sample that the file lacks',
    mp4File([QUIET], { listFirst: true }).subarray(0, -8),
    HUNDRED - 2 * BLOCK_SECONDS,
    HUNDRED,
  ],
]
for (const [name, file, seconds, secondsMax] of STATED) {
  test(`MP4: ${name}`, async () => assertLength(file, seconds, secondsMax))
}

function tabled(type: string, ...values: readonly number[]): Buffer {
  return mp4File([{ ...QUIET, tables: { [type]: fullBox(type, 0, uints(...values)) } }])
}

const HIDDEN = { id: 2, samples: times(1_000, QUIET_AAC) }
/** A whole track in some box. */
const HIDDEN_TRACK = mp4File([HIDDEN])
const HIDDEN_RUN = fragment(times(1_000, QUIET_AAC))
const ADTS = Buffer.from([0xff, 0xf1, 0x6c, 0x40, 1, 0x1f, 0xfc, 0])

const UNBOUND: [string, Buffer][] = [
  ['a list of fewer samples than chunks have', tabled('stsz', 0, 1, 4)],
  ['a list of more samples than chunks have', tabled('stsz', 0, 101, ...new Array<number>(101).fill(4))],
  ['samples of a size for all, and a huge number', tabled('stsz', 4, 0xffffffff)],
  ['a huge number without a table', tabled('stsz', 0, 0xffffffff)],
  ['samples that are longer than the file together', tabled('stsz', 1_000, 100)],
  ['chunks of a huge number of samples', tabled('stsc', 1, 1, 0xffffffff, 1)],
  ['a huge number of chunks', tabled('stco', 0xffffffff, 0)],
  ['groups of chunks in disorder', tabled('stsc', 2, 2, 50, 1, 1, 50, 1)],
  ['chunks that all have the same samples', mp4File([{ ...QUIET, tables: overlapping() }])],
  ['samples of one tick, as of uncompressed sound', mp4File([{ ...QUIET, ticks: 1 }])],
  ['two tables of sizes', mp4File([{ ...QUIET, tables: { stz2: fullBox('stz2', 0, uints(8, 0)) } }])],
  [
    'an edit that repeats the track',
    mp4File([
      {
        ...QUIET,
        edits: [
          [0, 100],
          [0, 100],
        ],
      },
    ]),
  ],
  ['two movies', Buffer.concat([mp4File([QUIET]), box('moov')])],
  ['no sound', mp4File([PICTURES])],
  ['two tracks with one number', mp4File([QUIET, QUIET])],
  ['uncompressed sound', mp4File([{ ...QUIET, codec: 'sowt' }])],
  [
    'sound that says it is pictures',
    mp4File([
      { ...QUIET, handler: 'vide' },
      { ...QUIET, id: 2 },
    ]),
  ],
  ['sound that says it is text', mp4File([{ ...QUIET, id: 2, codec: 'sowt', handler: 'text' }, QUIET])],
  ['two descriptions', tabledEntries(2, 2)],
  ['two descriptions, one of which is stated', tabledEntries(1, 2)],
  ['a rate beside the table', mp4File([{ ...QUIET, config: Buffer.from([0x17, 0x80, 0, 0, 8]) }])],
  ['a rate of the output below that of its core', mp4File([{ ...QUIET, config: Buffer.from([0x29, 0x8c, 0x88]) }])],
  ['another kind of AAC', mp4File([{ ...QUIET, config: Buffer.from([0x09, 0x88]) }])],
  ['samples with heads of another format', mp4File([{ samples: times(100, ADTS) }])],
  ['a sample that is longer than a block', mp4File([{ samples: [Buffer.alloc(65_540, QUIET_AAC)] }])],
  ['a sample that decoders refuse', mp4File([{ samples: times(3, Buffer.from([0x40, 0, 0, 7])) }])],
  ['a track within the notes of the movie', mp4File([QUIET], { within: [box('udta', HIDDEN_TRACK)] })],
  ['a track within free space', mp4File([QUIET], { before: [box('free', HIDDEN_TRACK)] })],
  ['a track within the track', mp4File([{ ...QUIET, more: [HIDDEN_TRACK] }])],
  ['a fragment within the data', mp4File([QUIET, { id: 2, samples: [HIDDEN_RUN] }])],
  ['a run of samples outside a fragment', fragmentedFile([fragment([QUIET_AAC]), HIDDEN_RUN.subarray(8 + 16)])],
  ['a fragment with a huge number of samples', fragmentedFile([fragment([QUIET_AAC], { count: 0xffffffff })])],
  ['a compressed movie', mp4File([QUIET], { within: [box('cmov')] })],
  ['a box that is smaller than its head', Buffer.concat([mp4File([QUIET]), uints(4, 0)])],
]
for (const [name, file] of UNBOUND) {
  test(`MP4 with ${name} has no bound`, async () => assert.equal(await lengthOf(file), null))
}

function overlapping(): Readonly<Record<string, Buffer>> {
  const count = 10_000
  return {
    stsc: fullBox('stsc', 0, uints(1, 1, 100, 1)),
    stsz: fullBox('stsz', 0, uints(4, count * 100)),
    stco: fullBox('stco', 0, uints(count, ...new Array<number>(count).fill(50))),
  }
}

function tabledEntries(stated: number, entries: number): Buffer {
  const described = fullBox('stsd', 0, uints(stated), ...times(entries, sampleEntry({})))
  return mp4File([{ ...QUIET, tables: { stsd: described } }])
}

test('MP4: boxes within boxes to any depth are not followed', async () => {
  let nested = box('udta')
  for (let depth = 0; depth < 2_000; depth++) nested = box('udta', nested)
  await assertLength(mp4File([QUIET], { within: [nested] }), HUNDRED)
})

test('MP4: every cut and many changes of a file are measured or refused', async () => {
  const files = [AAC_M4A, LAYOUTS[2]?.[1] ?? AAC_M4A, LAYOUTS.at(-1)?.[1] ?? AAC_M4A]
  await assertDamageMeasured(files, 'mp4', 12)
})
