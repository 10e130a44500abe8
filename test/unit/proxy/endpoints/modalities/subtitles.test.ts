// Goal: players show what was said when it was said, whatever the provider writes into its segments.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type SubtitleFormat, subtitlesOf } from '../../../../../proxy/endpoints/modalities/subtitles.ts'
import { findMembers } from '../../../../../proxy/json/findMembers.ts'
import { limits } from '../../../../support/limits.ts'

/** Read from each of its characters, a run of this length takes many seconds. */
const RUN_CHARACTERS = 200_000
const RUN_MS_MAX = 1_000

function written(segments: readonly unknown[], format: SubtitleFormat): string | null {
  const bytes = Buffer.from(JSON.stringify({ segments }))
  const content = findMembers(bytes, { values: [], items: { name: 'segments', max: segments.length } }, limits)
  return subtitlesOf(content?.items ?? [], bytes, format)
}

test('times have hours, minutes, seconds and milliseconds, rounded', () => {
  const cases: [seconds: number, srt: string][] = [
    [0, '00:00:00,000'],
    [0.0004, '00:00:00,000'],
    [0.9996, '00:00:01,000'],
    [59.9999, '00:01:00,000'],
    [61.25, '00:01:01,250'],
    [3_599.5, '00:59:59,500'],
    [14_400, '04:00:00,000'],
    [360_000.001, '100:00:00,001'],
  ]
  for (const [seconds, text] of cases) {
    assert.equal(written([{ start: 0, end: seconds, text: 'x' }], 'srt'), `1\n00:00:00,000 --> ${text}\nx\n\n`)
    const vtt = `WEBVTT\n\n00:00:00.000 --> ${text.replace(',', '.')}\nx\n\n`
    assert.equal(written([{ start: 0, end: seconds, text: 'x' }], 'vtt'), vtt)
  }
})

test('a cue ends where its text does: blank lines and arrows are taken out of it, empty cues left out', () => {
  const segments = [
    { start: 0, end: 1, text: ' Hello\n\n\nworld \r\n' },
    { start: 1, end: 2, text: ' \n ' },
    { id: 7, start: 2, end: 2, text: 'a --> b ---> c', tokens: [1, 2], words: [{ start: 1 }] },
    { start: 3, end: 4, text: 'schön "gesagt" \\ 日本' },
  ]
  const expected = [
    '1\n00:00:00,000 --> 00:00:01,000\nHello\nworld\n\n',
    '2\n00:00:02,000 --> 00:00:02,000\na -> b -> c\n\n',
    '3\n00:00:03,000 --> 00:00:04,000\nschön "gesagt" \\ 日本\n\n',
  ]
  assert.equal(written(segments, 'srt'), expected.join(''))
  assert.equal(written([], 'srt'), '')
  assert.equal(written([], 'vtt'), 'WEBVTT\n\n')
})

test('segments that are not as documented are no subtitles', () => {
  const good = { start: 1, end: 2, text: 'x' }
  for (const bad of [null, 'x', [], {}, { ...good, start: '1' }, { ...good, text: null }, { ...good, text: ['x'] }]) {
    assert.equal(written([good, bad], 'srt'), null, JSON.stringify(bad))
  }
})

test('times that a model has missed are within the recording, and no cue ends before it starts', () => {
  const cue = (start: unknown, end: unknown) => written([{ start, end, text: 'x' }], 'vtt')?.split('\n')[2]
  assert.deepEqual(
    [cue(-0.02, 1), cue(2, 1.98), cue(2, null), cue(2, 1e300)],
    [
      '00:00:00.000 --> 00:00:01.000',
      '00:00:02.000 --> 00:00:02.000',
      '00:00:02.000 --> 00:00:02.000',
      '00:00:02.000 --> 277:46:40.000',
    ],
  )
})

test('a run of dashes that is no arrow is read in no time', () => {
  const { user } = process.cpuUsage()
  const text = `${'-'.repeat(RUN_CHARACTERS)}x`
  assert.equal(written([{ start: 0, end: 1, text }], 'srt'), `1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`)
  assert.ok((process.cpuUsage().user - user) / 1_000 < RUN_MS_MAX)
})
