// Goal: the owner of an account links a second wallet on the page of the balance, which may sign in from then on, and unlinks it; a wallet
// of another account is not linked. Method: the system's browser with wallets of the test.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { addWallet, type ConsolePage, openPage, startBrowser } from '../../support/browser.ts'
import { apiOk, newOwner, newWallet, type Owner, signIn } from '../../support/clients/apiClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const NARROW = 380

let stack: Stack
let browser: Browser
let owner: Owner

before(async () => {
  stack = await startStack({ catalog: { models: [{ id: 'test/small' }] } })
  browser = await startBrowser()
  owner = await newOwner(stack)
})
after(async () => {
  await browser?.close()
  await stack.finish()
})

const linked = async (): Promise<string[]> => {
  const { data } = await apiOk<{ data: { address: string }[] }>(stack.baseUrl, 'GET', '/v1/account/wallets', {
    token: owner.token,
  })
  return data.map(({ address }) => address)
}

/** The card of the wallets, of a page that is signed in with the owner's. */
async function cardOf(shown: ConsolePage) {
  await shown.page.goto(`${stack.baseUrl}/console/sign-in`)
  await shown.page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
  await shown.loaded('Usage')
  await shown.follow('Balance')
  return shown.page.locator('.card', { hasText: 'Link another wallet' })
}

test('a wallet is linked by its signature, signs in, and is unlinked', async () => {
  const second = newWallet()
  const shown = await openPage(browser, stack.baseUrl, NARROW, 'dark')
  const { page } = shown
  await addWallet(page, owner.wallet)
  await addWallet(page, second, 'Second Wallet')
  const card = await cardOf(shown)
  await card.getByRole('button', { name: 'Link Second Wallet' }).click()
  await card.getByText(second.address).waitFor()
  assert.deepEqual(await shown.findings(), [])
  assert.deepEqual((await linked()).sort(), [owner.wallet.address, second.address].sort())
  const session = await signIn(stack.baseUrl, second)
  const account = await apiOk<{ id: string }>(stack.baseUrl, 'GET', '/v1/account', { token: session })
  assert.equal(account.id, owner.accountId)

  page.once('dialog', (dialog) => void dialog.accept())
  await card.locator('tr', { hasText: second.address }).getByRole('button', { name: 'Unlink' }).click()
  await card.getByText(second.address).waitFor({ state: 'detached' })
  assert.deepEqual(await linked(), [owner.wallet.address])
  assert.deepEqual(shown.faults, [])
  await page.context().close()
})

test('a wallet of another account is not linked, and the page says why', async () => {
  const other = await newOwner(stack)
  const shown = await openPage(browser, stack.baseUrl, 1280, 'light')
  await addWallet(shown.page, owner.wallet)
  await addWallet(shown.page, other.wallet, 'Second Wallet')
  const card = await cardOf(shown)
  await card.getByRole('button', { name: 'Link Second Wallet' }).click()
  await card.getByRole('alert').waitFor()
  assert.deepEqual(await shown.findings(), [])
  assert.deepEqual(await linked(), [owner.wallet.address])
  assert.deepEqual(shown.faults, [])
  await shown.page.context().close()
})
