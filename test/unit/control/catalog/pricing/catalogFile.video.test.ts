import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import type { CatalogModel } from '../../../../../control/catalog/pricing/modelReader.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { decodeCatalog } from '../../../../../proxy/catalog/catalog.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'

const HEAD = `coin: { usd: "1" }
providers:
  - { id: acme, base_url: "http://127.0.0.1:9100/v1", dialect: openai, data_policy: none }
models:
`
/** The line that the model's first key stands in. */
const FIRST_LINE = 5

function catalogOf(video: string, route = '{ provider: acme, model: clip }', extra = ''): string {
  return `${HEAD}  - id: acme/clip
    owned_by: acme
    modality: video
    endpoints: [videos]
    price: { second: "0.1" }
    routes: [ ${route} ]
${video}${extra}`
}

function modelOf(text: string): CatalogModel {
  const [model] = parseCatalog('catalog.yaml', text).models
  assert.ok(model !== undefined)
  return model
}

const FULL = `    video:
      seconds: [8, 4]
      image: optional
      aspect_ratios: ["16:9", "9:16"]
      sizes: { "16:9": 1280x720, "9:16": 720x1280 }
      resolution: 720p
      negative_prompt: 500
      prompt: 2000
`

test('the settings of a video model reach the proxy as written in the file', () => {
  const text = catalogOf(FULL)
  const published = { version: 1, publishedAtMs: 0, validUntilMs: 0, sheetJson: '{}', listedAtMs: new Map() }
  const record = encodeRecord(parseCatalog('catalog.yaml', text), published)
  const decoded = decodeCatalog(record, {}).models.get('acme/clip')
  assert.deepEqual(decoded?.video, modelOf(text).video)
  assert.deepEqual(decoded?.video, {
    seconds: [8, 4],
    image: 'optional',
    aspectRatios: ['16:9', '9:16'],
    sizes: new Map([
      ['16:9', '1280x720'],
      ['9:16', '720x1280'],
    ]),
    resolution: '720p',
    negativePromptMax: 500,
    promptMax: 2_000,
  })
})

test('omitted settings are not accepted in requests, except for prompts of the default length', () => {
  assert.deepEqual(modelOf(catalogOf('    video: { seconds: [5] }\n')).video, {
    seconds: [5],
    image: 'none',
    aspectRatios: [],
    sizes: new Map(),
    resolution: '',
    negativePromptMax: 0,
    promptMax: 4_000,
  })
})

for (const [video, line, reason] of [
  ['', 0, /models\[0\] has the modality video but no video settings/],
  ['    video: {}\n', 6, /video\.seconds is missing/],
  ['    video: { seconds: [] }\n', 6, /video\.seconds must name at least one clip length/],
  ['    video: { seconds: 4 }\n', 6, /video\.seconds must be a list/],
  ['    video: { seconds: [4, 4] }\n', 6, /seconds\[1\] repeats 4/],
  ['    video: { seconds: [4.5] }\n', 6, /seconds\[0\] must be a positive whole number/],
  ['    video: { seconds: [3601] }\n', 6, /seconds\[0\] must be at most 3600 seconds/],
  ['    video: { seconds: ["4"] }\n', 6, /seconds\[0\] must be a positive whole number/],
  ['    video:\n      seconds: [4]\n      image: maybe\n', 8, /video\.image must be one of: none, optional, required/],
  ['    video: { seconds: [4], aspect_ratios: [wide] }\n', 6, /aspect_ratios\[0\] must be an aspect ratio in quotes/],
  ['    video: { seconds: [4], aspect_ratios: ["1:1", "1:1"] }\n', 6, /aspect_ratios\[1\] repeats 1:1/],
  ['    video: { seconds: [4], aspect_ratios: [] }\n', 6, /must name at least one aspect ratio/],
  ['    video: { seconds: [4], sizes: { "1:1": 10x10 } }\n', 6, /sizes\.1:1 is not one of the aspect_ratios/],
  ['    video: { seconds: [4], aspect_ratios: ["1:1"], sizes: {} }\n', 6, /has no size for the aspect ratio 1:1/],
  ['    video: { seconds: [4], aspect_ratios: ["1:1"], sizes: { "1:1": big } }\n', 6, /must be WxH, such as 1280x720/],
  ['    video: { seconds: [4], resolution: 720 }\n', 6, /video\.resolution must be a text/],
  ['    video: { seconds: [4], prompt: 100001 }\n', 6, /video\.prompt must be at most 100000 characters/],
  ['    video: { seconds: [4], negative_prompt: -1 }\n', 6, /negative_prompt must be a positive whole number/],
  ['    video: { seconds: [4], size: 1x1 }\n', 6, /video\.size is not a known key/],
] as const) {
  test(`rejected with line and reason: ${video.trim() || 'no settings'}`, () => {
    const problems = problemsOf(catalogOf(video))
    const found = problems.find((problem) => reason.test(problem))
    assert.ok(found !== undefined, problems.join('\n'))
    assert.ok(found.startsWith(`catalog.yaml:${FIRST_LINE + line}:`), found)
  })
}

test('video settings are for video models', () => {
  const chat = `${HEAD}  - { id: a, owned_by: a, modality: chat, endpoints: [chat], context: 9, max_output: 9, price: { input: "1", output: "1" }, routes: [ { provider: acme } ], video: { seconds: [4] } }\n`
  assert.match(problemsOf(chat).join('\n'), /models\[0\]\.video is for models of the modality video/)
})

test('the cost of a route is one number for comparison, and is not in the public sheet', () => {
  const routes = (cost: string) =>
    catalogOf('    video: { seconds: [4] }\n', `{ provider: acme, model: c, cost: ${cost} }`)
  assert.equal(modelOf(routes('{ second: "0.03" }')).routes[0]?.costUnits, 30_000_000)
  assert.equal(modelOf(catalogOf('    video: { seconds: [4] }\n')).routes[0]?.costUnits, undefined)
  const chat = (cost: string) =>
    `${HEAD}  - { id: a, owned_by: a, modality: chat, endpoints: [chat], context: 9, max_output: 9, price: { input: "1", output: "1" }, routes: [ { provider: acme, cost: ${cost} } ] }\n`
  // Three parts input, one part output.
  assert.equal(modelOf(chat('{ input: "0.5", output: "2", cached_input: "0.1" }')).routes[0]?.costUnits, 3_500_000_000)
  assert.equal(modelOf(chat('{ input: "9007199", output: "9007199" }')).routes[0]?.costUnits, Number.MAX_SAFE_INTEGER)
  for (const [cost, reason] of [
    ['{ input: "0.5" }', /cost\.output is missing/],
    ['{ input: 0.5, output: "1" }', /cost\.input must be a decimal string/],
    ['{ second: "1" }', /cost\.second is not a known key/],
    ['{ input: "1", output: "1", long_context: {} }', /cost\.long_context is not a known key/],
    ['7', /cost must be a map/],
  ] as const) {
    assert.match(problemsOf(chat(cost)).join('\n'), reason)
  }
  assert.match(problemsOf(routes('{ input: "1" }')).join('\n'), /cost\.second is missing/)
})
