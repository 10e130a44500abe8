// Goal: what agents are told works. Method: the program in skill.md is run as it stands against a stack on a real chain,
// and the paths that the pages name are asked for.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test, { after, before } from 'node:test'
import { promisify } from 'node:util'
import { projectRoot } from '../../../control/launch/paths.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack()
})
after(() => paid.stop())

async function page(name: string): Promise<string> {
  const response = await fetch(`${paid.stack.baseUrl}/${name}`)
  assert.equal(response.status, 200)
  const text = await response.text()
  assert.doesNotMatch(text, /\{base_url\}/)
  assert.ok(text.includes(paid.stack.baseUrl))
  return text
}

test('the program in skill.md pays for a request', async () => {
  const [program = ''] = [...(await page('skill.md')).matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')
  const payer = await paid.chain.newPayer()
  // Modules of a program given as text are looked for from the folder that it runs in.
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, PRIVATE_KEY: payer.privateKey, MODEL: 'test/small' },
    cwd: projectRoot,
  })
  assert.match((await run).stdout, /tok0.* 0\.\d+ 0x[0-9a-f]{64}\n$/)
  await paid.audited()
  assert.ok((await paid.has('stablecoin', payer)) < 1_000_000_000n)
})

test('every path that llms.txt and skill.md name is served', async () => {
  const base = paid.stack.baseUrl
  const text = (await page('llms.txt')) + (await page('skill.md'))
  const paths = text.match(/\/(?:x402\/)?v1\/[A-Za-z_/-]*[A-Za-z_](?:\.json|\.csv)?/g) ?? []
  // Capitals stand for a parameter.
  const named = new Set(paths.map((path) => path.replace(/[A-Z-]{2,}/g, 'x')))
  assert.ok(named.size > 20, [...named].join(' '))
  for (const path of named) {
    // A method that is not served is answered 405 where the path is, and 404 where it is not.
    const { status } = await fetch(base + path, { method: 'DELETE' })
    const known = status === 404 ? (await fetch(`${base}${path}/x`, { method: 'DELETE' })).status : status
    assert.notEqual(known, 404, path)
  }
})

test('pages have their content types, and other methods are rejected', async () => {
  const { headers } = await fetch(`${paid.stack.baseUrl}/skill.md`)
  assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8')
  assert.equal((await fetch(`${paid.stack.baseUrl}/llms.txt`, { method: 'POST' })).status, 405)
})
