// Goal: how long the sound of a WebM file is follows from its packets. Nothing that it states makes it shorter, and where
// players may find more sound than was measured, there is no bound.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertDamageMeasured, soundLength } from '../../../../support/parts/measuredAudio.ts'
import { OPUS_WEBM, VORBIS_WEBM } from '../../../../support/samples/encodedMovies.ts'
import {
  blockData,
  element,
  OPUS_20,
  OPUS_120,
  OPUS_HEAD,
  OPUS_TRACK,
  openElement,
  simpleBlock,
  trackEntry,
  uint,
  VIDEO_TRACK,
  WEBM_HEAD,
  webmFile,
} from '../../../../support/samples/webmFiles.ts'

const lengthOf = (file: Buffer) => soundLength(file, 'webm')

async function assertLength(file: Buffer, seconds: number, secondsMax = seconds): Promise<void> {
  const found = await lengthOf(file)
  assert.ok(found !== null, 'no bound')
  assert.ok(Math.abs(found.seconds - seconds) < 1e-6, `${found.seconds}, not ${seconds}`)
  assert.ok(Math.abs(found.secondsMax - secondsMax) < 1e-6, `at most ${found.secondsMax}, not ${secondsMax}`)
}

function times(count: number, packet: Buffer): readonly Buffer[] {
  return Array.from({ length: count }, () => packet)
}

for (const [name, file] of Object.entries({ Opus: OPUS_WEBM, Vorbis: VORBIS_WEBM })) {
  test(`2.5 seconds of ${name} in WebM, as an encoder writes it`, async () => {
    const found = await lengthOf(file)
    assert.ok(found !== null && found.seconds >= 2.5 && found.seconds < 2.6, `${found?.seconds}`)
    assert.ok(found.secondsMax >= found.seconds && found.secondsMax < 2.6, `${found.secondsMax}`)
  })
}

const PACKET = simpleBlock([OPUS_120])
const MIXED = [OPUS_20, OPUS_120, OPUS_20, OPUS_120]
const NUMBERED = [OPUS_TRACK, trackEntry(3, 2, 'A_OPUS', element('63a2', OPUS_HEAD))]
const INFO = (duration: number, tickNanoseconds = 1_000_000) => {
  const ticks = Buffer.alloc(8)
  ticks.writeDoubleBE(duration)
  return element('1549a966', uint('2ad7b1', tickNanoseconds), element('4489', ticks))
}
const LATE = simpleBlock([OPUS_20], { time: 3_000 })
const SOUND = { tracks: [OPUS_TRACK, VIDEO_TRACK] }

const FILES: [string, Buffer, number, number?][] = [
  ['sizes that are known', webmFile([[0, PACKET, PACKET]]), 0.24],
  [
    'sizes that are not known',
    webmFile(
      [
        [0, PACKET],
        [0, PACKET],
      ],
      { open: true },
    ),
    0.24,
  ],
  ['packets laced as in Ogg', webmFile([[0, simpleBlock(MIXED, { lacing: 'xiph' })]]), 0.28],
  ['packets laced by differences', webmFile([[0, simpleBlock(MIXED, { lacing: 'ebml' })]]), 0.28],
  ['packets laced by their number', webmFile([[0, simpleBlock(times(200, OPUS_120), { lacing: 'fixed' })]]), 24],
  ['groups', webmFile([[0, element('a0', uint('9b', 1), element('a1', blockData([OPUS_120])))]]), 0.12],
  ['pictures', webmFile([[0, simpleBlock([Buffer.alloc(900, 3)], { track: 2 }), PACKET]], SOUND), 0.12],
  [
    'two tracks of sound',
    webmFile([[0, PACKET, simpleBlock(times(2, OPUS_120), { track: 3, lacing: 'fixed' })]], { tracks: NUMBERED }),
    0.24,
  ],
  ['a track that is not listed', webmFile([[0, PACKET, simpleBlock([OPUS_120], { track: 9 })]]), 0.12],
  ['an understated duration', webmFile([[0, PACKET]], { parts: [INFO(1)] }), 0.12],
  ['an overstated duration', webmFile([[0, PACKET]], { parts: [INFO(5_000)] }), 0.12, 5],
  ['a duration that is no number', webmFile([[0, PACKET]], { parts: [INFO(Number.NaN)] }), 0.12],
  ['ticks of a nanosecond', webmFile([[0, PACKET, LATE]], { parts: [INFO(1, 1)] }), 0.14],
  ['a gap', webmFile([[0, PACKET, LATE]]), 0.14, 3.02],
  ['a recording that began earlier', webmFile([[60_000, PACKET, LATE]]), 0.14, 3.02],
  ['the end cut off', webmFile([[0, PACKET, PACKET]], { open: true }).subarray(0, -1), 0.24],
]
for (const [name, file, seconds, secondsMax] of FILES) {
  test(`WebM: ${name}`, async () => assertLength(file, seconds, secondsMax))
}

const HIDDEN = element('1f43b675', uint('e7', 0), ...times(50, PACKET))
const UNBOUND: [string, Buffer][] = [
  ['no sound', webmFile([[0, PACKET]], { tracks: [VIDEO_TRACK] })],
  ['no tracks', Buffer.concat([WEBM_HEAD, element('18538067', HIDDEN)])],
  ['tracks behind the sound', Buffer.concat([WEBM_HEAD, element('18538067', HIDDEN, element('1654ae6b', OPUS_TRACK))])],
  ['two lists of tracks', webmFile([[0, PACKET]], { parts: [element('1654ae6b', OPUS_TRACK)] })],
  ['two tracks of one number', webmFile([[0, PACKET]], { tracks: [OPUS_TRACK, OPUS_TRACK] })],
  ['another codec', webmFile([[0, PACKET]], { tracks: [trackEntry(1, 2, 'A_AAC', element('63a2', OPUS_HEAD))] })],
  [
    'sound that says it is pictures',
    webmFile([[0, PACKET]], { tracks: [trackEntry(1, 1, 'A_OPUS'), ...NUMBERED.slice(1)] }),
  ],
  ['a codec without its head', webmFile([[0, PACKET]], { tracks: [trackEntry(1, 2, 'A_OPUS')] })],
  [
    'compressed packets',
    webmFile([[0, PACKET]], { tracks: [trackEntry(1, 2, 'A_OPUS', element('63a2', OPUS_HEAD), element('6d80'))] }),
  ],
  ['a cluster in empty space', webmFile([[0, PACKET]], { parts: [element('ec', HIDDEN)] })],
  ['a cluster in a picture', webmFile([[0, PACKET, simpleBlock([HIDDEN], { track: 2 })]], SOUND)],
  [
    'a cluster in an attachment beside empty ones',
    webmFile([[0, PACKET], [0], [0]], { parts: [element('1941a469', HIDDEN)] }),
  ],
  ['a part that is not known', webmFile([[0, PACKET, element('af', OPUS_120)]])],
  [
    'a part of a size that is not known',
    webmFile([[0, PACKET, openElement('a0', element('a1', blockData([OPUS_120])))]]),
  ],
  ['a block that exceeds its cluster', exceeding()],
  ['a lace that exceeds its block', webmFile([[0, element('a3', Buffer.from([0x81, 0, 0, 2, 1, 200, 8, 0]))]])],
  ['a lace that does not divide its block', webmFile([[0, element('a3', Buffer.from([0x81, 0, 0, 4, 1, 8, 0, 8]))]])],
  ['a lace of a negative size', webmFile([[0, element('a3', Buffer.from([0x81, 0, 0, 6, 2, 0x81, 0x80, 8, 0, 8]))]])],
  ['a second file behind it', Buffer.concat([webmFile([[0, PACKET]]), webmFile([[0, PACKET]])])],
  ['a second recording behind it', Buffer.concat([webmFile([[0, PACKET]], { open: true }), webmFile([[0, PACKET]])])],
  [
    'longer names than players know',
    Buffer.concat([element('1a45dfa3', uint('42f2', 8)), webmFile([[0, PACKET]]).subarray(WEBM_HEAD.length)]),
  ],
]
for (const [name, file] of UNBOUND) {
  test(`WebM with ${name} has no bound`, async () => assert.equal(await lengthOf(file), null))
}

function exceeding(): Buffer {
  const file = webmFile([
    [0, PACKET],
    [0, PACKET],
  ])
  const at = file.indexOf(Buffer.from('1f43b675', 'hex'))
  file.writeUInt8(file.readUInt8(at + 11) - 2, at + 11)
  return file
}

test('WebM: every cut and many changes of a file are measured or refused', async () => {
  const files = [OPUS_WEBM, VORBIS_WEBM, FILES[3]?.[1] ?? OPUS_WEBM]
  await assertDamageMeasured(files, 'webm', 4)
})
