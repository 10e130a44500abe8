// Goal: the policy of an agent binds every operation that is sold, not only chat: allowlist, cap on a request, approval.
// Method: a whole stack; a sound request of each operation by agents of several policies; the provider's log says what ran.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { api, apiOk, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, type Reply } from '../../support/clients/chatClient.ts'
import { mediaModel } from '../../support/clients/mediaClient.ts'
import { providerVideos, videoModel } from '../../support/clients/videoClient.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const CHAT_ENDPOINTS = ['chat', 'completions', 'messages', 'responses']

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, videoPollMinMs: 50 }
  const media = (['embedding', 'image', 'transcription', 'rerank', 'speech'] as const).map((modality) =>
    mediaModel(`test/${modality}`, modality),
  )
  const models = [
    { id: 'test/chat', endpoints: CHAT_ENDPOINTS },
    ...media,
    videoModel('test/video', 'mock'),
    { id: 'test/none' },
  ]
  stack = await startStack({ catalog: { models }, limits: rates })
  url = stack.baseUrl
  owner = await newOwner(stack, { coin: '1000' })
})

afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(() => stack.finish())

type Fields = Record<string, unknown>
interface Operation {
  readonly path: string
  readonly fields: Fields
  /** The same with another content. */
  readonly other: Fields
}

const CHAT = { model: 'test/chat', max_tokens: 50 }
const OPERATIONS: readonly Operation[] = [
  {
    path: 'chat/completions',
    fields: { ...CHAT, messages: [{ role: 'user', content: 'a' }] },
    other: { messages: [{ role: 'user', content: 'b' }] },
  },
  { path: 'completions', fields: { ...CHAT, prompt: 'a' }, other: { prompt: 'b' } },
  {
    path: 'messages',
    fields: { ...CHAT, messages: [{ role: 'user', content: 'a' }] },
    other: { messages: [{ role: 'user', content: 'b' }] },
  },
  { path: 'responses', fields: { model: 'test/chat', max_output_tokens: 50, input: 'a' }, other: { input: 'b' } },
  { path: 'embeddings', fields: { model: 'test/embedding', input: 'a' }, other: { input: 'b' } },
  { path: 'images/generations', fields: { model: 'test/image', prompt: 'a' }, other: { prompt: 'b' } },
  { path: 'images/edits', fields: { model: 'test/image', prompt: 'a', image: PNG }, other: { prompt: 'b' } },
  { path: 'audio/speech', fields: { model: 'test/speech', input: 'a' }, other: { input: 'b' } },
  {
    path: 'audio/transcriptions',
    fields: { model: 'test/transcription', file: wavFile(2) },
    other: { file: wavFile(2, { channels: 2 }) },
  },
  { path: 'rerank', fields: { model: 'test/rerank', query: 'q', documents: ['a'] }, other: { documents: ['b'] } },
  { path: 'videos/generations', fields: { model: 'test/video', prompt: 'a', seconds: 4 }, other: { prompt: 'b' } },
]

let agents = 0

async function newAgent(policy: Fields): Promise<{ slug: string; key: string }> {
  const slug = `agent-${++agents}`
  const { token } = owner
  await apiOk(url, 'POST', '/v1/agents', { token, body: { slug, ...policy } })
  await apiOk(url, 'POST', `/v1/agents/${slug}/fund`, { token, body: { amount: '3' } })
  const { api_key: key } = await apiOk<{ api_key: string }>(url, 'POST', `/v1/agents/${slug}/key`, { token })
  return { slug, key }
}

/** Sends a request; one with a file as a form, whose boundary is another one each time. */
async function send(path: string, fields: Fields, key: string, approvalId = ''): Promise<Reply> {
  const isForm = Object.values(fields).some((value) => value instanceof Uint8Array)
  const headers: Record<string, string> = { authorization: `Bearer ${key}` }
  if (approvalId !== '') headers['x-approval-id'] = approvalId
  if (!isForm) headers['content-type'] = 'application/json'
  const body = isForm ? formOf(fields) : JSON.stringify(fields)
  const response = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function formOf(fields: Fields): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(value)]), 'file.bin')
    else form.append(name, String(value))
  }
  return form
}

const ran = async (path: string) =>
  (path.startsWith('videos') ? await providerVideos(stack) : await stack.provider.log()).length

for (const { path, fields, other } of OPERATIONS) {
  test(`${path}: the allowlist and the request cap apply`, async () => {
    const before = await ran(path)
    const listed = await newAgent({ models: ['test/none'] })
    assertError(await send(path, fields, listed.key), 403, 'model_not_allowed')
    const capped = await newAgent({ request_cap: '0' })
    assertError(await send(path, fields, capped.key), 402, 'request_cap_exceeded')
    const daily = await newAgent({ caps: { day: '0' } })
    assertError(await send(path, fields, daily.key), 402, 'spend_limit_exceeded')
    assert.equal(await ran(path), before, 'nothing ran')
  })

  test(`${path}: a request that awaits its owner's approval runs once, unchanged, after it is approved`, async () => {
    const before = await ran(path)
    const { slug, key } = await newAgent({ approval_threshold: '0' })
    const asked = await send(path, fields, key)
    assert.equal(asked.status, 202, asked.text)
    const approval = JSON.parse(asked.text) as { id: string; type: string }
    assert.equal(approval.type, 'approval_required')
    const again = JSON.parse((await send(path, fields, key)).text) as { id: string }
    assert.equal(again.id, approval.id, 'the same request waits once')
    const decision = `/v1/agents/${slug}/approvals/${approval.id}/approve`
    assert.equal((await api(url, 'POST', decision, { token: owner.token, body: {} })).status, 200)
    assertError(await send(path, { ...fields, ...other }, key, approval.id), 409, 'approval_mismatch')
    assert.equal(await ran(path), before, 'nothing ran')
    const done = await send(path, fields, key, approval.id)
    assert.equal(done.status, path.startsWith('videos') ? 202 : 200, done.text)
    assert.doesNotMatch(done.text.slice(0, 200), /approval_required/)
    assertError(await send(path, fields, key, approval.id), 409, 'approval_used')
    await stack.settled()
    assert.equal(await ran(path), before + 1)
  })
}
