// Goal: the console shows money as the book has it: the cost of a streamed answer, a proof, a year of usage, and why a capped key is
// refused. Method: the system's browser against a stack, with a wallet of the test; the same figures read from the API.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import type { Browser } from 'playwright-core'
import { shownUsd } from '../../../console/format/money.ts'
import { shownDuration } from '../../../console/format/time.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { addWallet, type ConsolePage, openPage, startBrowser } from '../../support/browser.ts'
import { AgentClient } from '../../support/clients/agentClient.ts'
import { apiOk, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, type Receipt } from '../../support/clients/chatClient.ts'
import { present } from '../../support/present.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const PICTURE = join(projectRoot, 'docs/images/console.png')
const AGENT_PATH = '/v1/chat/completions'
const AGENT_REQUEST = { model: 'test/other', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
let stack: Stack
let browser: Browser
let owner: Owner

before(async () => {
  stack = await startStack({
    catalog: { models: [{ id: 'demo/chat-small', upstream: 'chat-small,chunks=12,delay=5' }, { id: 'test/other' }] },
  })
  browser = await startBrowser()
  owner = await newOwner(stack, { credits: '10', coin: '1' })
})
after(async () => {
  await browser?.close()
  await stack.finish()
})

async function signedInByKey(key: string, path = ''): Promise<ConsolePage> {
  const shown = await openPage(browser, stack.baseUrl, 1280, 'light')
  await shown.page.goto(`${stack.baseUrl}/console${path}#key=${key}`)
  return shown
}

const receipts = async (): Promise<Receipt[]> =>
  (await apiOk<{ data: Receipt[] }>(stack.baseUrl, 'GET', '/v1/receipts', { token: owner.apiKey })).data

/** The cells of these columns in the first row of the page's table. */
async function firstRow({ page }: ConsolePage, columns: readonly string[]): Promise<(string | undefined)[]> {
  const names = await page.locator('thead th').allInnerTexts()
  const cells = await page.locator('tbody tr').first().locator('td').allInnerTexts()
  return columns.map((name) => cells[names.findIndex((each) => each.toLowerCase() === name.toLowerCase())])
}

test('a streamed answer shows its hold and its exact cost, and its proof is verified or refused', async () => {
  const shown = await signedInByKey(owner.apiKey)
  const { page } = shown
  await shown.loaded('Playground')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('tok11').waitFor()
  await page.locator('.hold').waitFor()
  await stack.settled()
  const receipt = present((await receipts())[0])
  const figures = await page.locator('.hold dd').allInnerTexts()
  assert.deepEqual(figures.slice(0, 2), [shownUsd(receipt.cost.usd), shownUsd(receipt.hold.usd)])

  await page.getByRole('button', { name: 'Verify the proof' }).click()
  await page.getByText('The proof holds.').waitFor()
  const results = await page.locator('.step-result').allInnerTexts()
  assert.deepEqual([...new Set(results)], ['ok'], results.join(' '))
  assert.ok(results.length >= 9, results.join(' '))
  if (process.env['SLUICE_PICTURES'] !== undefined) {
    mkdirSync(dirname(PICTURE), { recursive: true })
    await page.setViewportSize({ width: 1100, height: 900 })
    await page.screenshot({ path: PICTURE, fullPage: true })
  }

  await page.getByRole('button', { name: 'Change one byte and verify' }).click()
  await page.getByText('The proof does not hold.').waitFor()
  assert.ok((await page.locator('.steps .failed').count()) > 0)

  await shown.follow('Requests')
  assert.deepEqual(await firstRow(shown, ['Hold', 'First token', 'Time taken', 'Tries']), [
    shownUsd(receipt.hold.usd),
    shownDuration(receipt.first_token_ms),
    shownDuration(receipt.duration_ms),
    '1',
  ])
  assert.notEqual(receipt.first_token_ms, null)
  assert.deepEqual(shown.faults, [])
  await page.context().close()
})

test('a year of usage is one call, and its sum is that of the receipts', async () => {
  await chat(stack.baseUrl, owner.apiKey, { model: 'test/other' })
  await stack.settled()
  const shown = await signedInByKey(owner.apiKey, '/usage')
  const { page } = shown
  await shown.loaded('Usage')
  const calls = await shown.callsOf(1, () => page.getByRole('button', { name: '12 months' }).click())
  assert.equal(calls.length, 1, calls.join(' '))
  assert.match(calls[0] ?? '', /^\/v1\/usage\?.*group_by=month,model/)
  const { total } = await apiOk<{ total: { cost: { usd: string } } }>(stack.baseUrl, 'GET', '/v1/usage', {
    token: owner.apiKey,
  })
  assert.equal(await page.locator('.figure dd').first().innerText(), shownUsd(total.cost.usd))
  const units = (await receipts()).reduce((sum, { cost }) => sum + Number(cost.usd) * 1e9, 0)
  assert.equal(Math.round(Number(total.cost.usd) * 1e9), Math.round(units))
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  assert.match((await saved).suggestedFilename(), /^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/)
  assert.deepEqual(shown.faults, [])
  await page.context().close()
})

/** An agent's request waits for its owner, who approves it on the page; sent again, it runs. */
async function approveWaiting(shown: ConsolePage): Promise<void> {
  const agents = new AgentClient(stack.baseUrl, owner)
  const { slug, key } = await agents.make({ approval_threshold: '0' })
  assert.equal((await agents.fund(slug, '0.5')).status, 201)
  const ask = (headers = {}) => agents.post(AGENT_PATH, key, AGENT_REQUEST, headers)
  const waiting = await ask()
  assert.equal(waiting.status, 202, waiting.text)
  await shown.follow('Status')
  await shown.follow('Agents and approvals')
  await shown.page.getByRole('button', { name: 'Waiting for approval' }).click()
  await shown.page.getByRole('button', { name: 'Approve' }).click()
  await shown.page.getByText('Nothing waits for approval').waitFor()
  assert.deepEqual(await shown.findings(), [])
  const approved = await ask({ 'x-approval-id': String(waiting.body['id']) })
  assert.equal(approved.status, 200, approved.text)
  await stack.settled()
}

test('a wallet makes a key with a cap, which the OpenAI SDK uses until it is refused, and the page says why', async () => {
  const shown = await openPage(browser, stack.baseUrl, 1280, 'light')
  const { page } = shown
  await addWallet(page, owner.wallet)
  await page.goto(`${stack.baseUrl}/console/sign-in`)
  await page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
  await shown.loaded('Usage')
  await shown.follow('Agents and approvals')
  await approveWaiting(shown)
  await shown.follow('Balance')
  await page.getByText('Credit grants').first().waitFor()
  assert.deepEqual(await shown.findings(), [])
  await shown.follow('Keys and caps')
  await page.locator('#new-name').fill('capped')
  await page.locator('#new-day').fill('0.0001')
  await page.getByRole('button', { name: 'Make the key' }).click()
  const secret = await page.locator('pre', { hasText: 'sk_' }).innerText()
  assert.deepEqual(await shown.findings(), [])

  const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: secret, maxRetries: 0 })
  const ask = (most: number) =>
    client.chat.completions.create({
      model: 'demo/chat-small',
      max_tokens: most,
      messages: [{ role: 'user', content: 'Hello' }],
    })
  assert.ok((await ask(5)).id)
  await stack.settled()
  const refusal = await ask(10_000).then(
    () => assert.fail('the request was served beyond the cap of its key'),
    (error: unknown) => error as { code: string; requestID: string },
  )
  assert.equal(refusal.code, 'spend_limit_exceeded')

  const card = page.locator('.card', { hasText: 'What is left' }).filter({ hasText: 'capped' })
  await card.getByRole('button', { name: 'What is left' }).click()
  const row = card.locator('tr', { hasText: 'each day' })
  await row.waitFor()
  const [, most = '', used = '', left = ''] = await row.locator('td').allInnerTexts()
  assert.equal(most, '$0.0001')
  assert.notEqual(used, '$0.00')
  assert.notEqual(left, '$0.0001')

  await shown.follow('Requests')
  await page.getByPlaceholder('Find a request').fill(refusal.requestID)
  await page.keyboard.press('Enter')
  await page.getByText('spend_limit_exceeded').waitFor()
  await page.locator('tr', { has: page.getByText('refused', { exact: true }) }).waitFor()
  assert.deepEqual(await shown.findings(), [])

  await shown.follow('Keys and caps')
  const again = page.locator('.card', { hasText: 'capped' }).filter({ hasText: 'What is left' })
  await again.getByRole('button', { name: 'Pause' }).click()
  await again.getByText('paused', { exact: true }).waitFor()

  const ended = page.waitForResponse((response) => response.url().endsWith('/v1/auth/session'))
  await page.getByRole('button', { name: 'Sign out' }).click()
  assert.equal((await ended).status(), 200)
  await shown.loaded('Models and prices')
  assert.deepEqual(shown.faults, [])
  await page.context().close()
})
