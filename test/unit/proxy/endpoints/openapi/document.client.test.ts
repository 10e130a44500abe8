// Goal: a client that is generated from the OpenAPI document is typed. Method: openapi-typescript writes its types, and the
// compiler of the project checks a program that uses them, with its mistakes.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import openapiTypescript, { type OpenAPI3 } from 'openapi-typescript'
import { ANSWER_SHAPES } from '../../../../../contract/api/answers/shapes.ts'
import { projectRoot } from '../../../../../control/launch/paths.ts'
import { document } from '../../../../support/answerSchemas.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

/** Operations that answer text, bytes or a document of its own. */
const NOT_JSON = [
  'post_v1_audio_speech',
  'post_x402_v1_audio_speech',
  'get_v1_videos_id_content',
  'get_statement',
  'get_checkpoint',
  'get_v1_log_tile_level_tile',
  'get_v1_log_log_checkpoint',
  'get_v1_log_log_tile_level_tile',
  'get_v1_openapi_json',
  'get_skill_md',
  'get_llms_txt',
  'get_console',
  'get_console_page',
]

const PROGRAM = `
import type { components, paths } from './schema'

type Answer<Path extends keyof paths, Method extends keyof paths[Path], Status extends PropertyKey> =
  paths[Path][Method] extends { responses: Record<Status, { content: { 'application/json': infer Body } }> } ? Body : never

const chat = null as unknown as Answer<'/v1/chat/completions', 'post', 200>
const text: string | null | undefined = chat.choices[0]?.message.content
const usd: string = chat.receipt.cost.usd
const status: 'ok' | 'partial' | 'failed' | 'cut' | 'orphaned' = chat.receipt.status
// @ts-expect-error units are text, so that nothing is rounded
const units: number = chat.receipt.cost.units

const later = null as unknown as Answer<'/v1/chat/completions', 'post', 202>
const id: string = later.object === 'batch.job' ? later.poll : later.request_id

const keys = null as unknown as Answer<'/v1/account/keys', 'get', 200>
const cap: string | null | undefined = keys.data[0]?.caps.day
// @ts-expect-error a list does not show secrets
const secret = keys.data[0]?.api_key
const created = null as unknown as Answer<'/v1/account/keys', 'post', 201>
const shown: string | null = created.api_key

const vector: number[] | string | undefined = (null as unknown as components['schemas']['Embeddings']).data[0]?.embedding
const listed: components['schemas']['Receipt'][] = (null as unknown as Answer<'/v1/receipts', 'get', 200>).data
const serving: number = (null as unknown as Answer<'/v1/status', 'get', 200>).models.serving
const failed: components['schemas']['Error']['error']['code'] = 'rate_limited'
export { cap, failed, id, listed, secret, serving, shown, status, text, units, usd, vector }
`

test('a generated client is typed', async (t) => {
  const dir = makeTempDir('client')
  t.after(() => removeTempDir(dir))
  const copy = JSON.parse(JSON.stringify(document)) as OpenAPI3
  writeFileSync(join(dir, 'schema.ts'), await openapiTypescript(copy))
  writeFileSync(join(dir, 'program.ts'), PROGRAM)
  const flags = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--module', 'esnext', '--target', 'es2023']
  const args = [...flags, '--moduleResolution', 'bundler', '--types', '', 'program.ts']
  try {
    execFileSync(join(projectRoot, 'node_modules/.bin/tsc'), args, { cwd: dir, encoding: 'utf8' })
  } catch (error) {
    assert.fail((error as { stdout: string }).stdout)
  }
})

test('every operation that answers JSON has a schema, and every shape is used', () => {
  const text = JSON.stringify(document.paths)
  const bare = Object.values(document.paths).flatMap((item) =>
    Object.values(item)
      .map((operation) => operation as { operationId: string; responses: Record<string, { content?: object }> })
      .filter(({ responses }) => {
        const answers = Object.entries(responses).filter(([status]) => /^20/.test(status))
        return !answers.every(([, { content }]) => JSON.stringify(content).includes('"$ref"'))
      })
      .map(({ operationId }) => operationId),
  )
  const hint = 'add its answer to contract/api/answers or proxy/endpoints/openapi/modelOperations.ts'
  assert.deepEqual(bare.sort(), [...NOT_JSON].sort(), hint)
  const shapes = JSON.stringify(document.components)
  for (const name of Object.keys(ANSWER_SHAPES)) {
    assert.ok(text.includes(`/${name}"`) || shapes.includes(`/${name}"`), `no operation answers ${name}`)
  }
})
