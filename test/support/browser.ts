import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { PrivateKeyAccount } from 'viem/accounts'
import { projectRoot, systemPackagesScript } from '../../control/launch/paths.ts'
import { until } from './until.ts'

/** Nothing is asked for but what the tests ask for. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const PATIENCE_MS = 30_000
const TABS_MAX = 60
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export type Scheme = 'light' | 'dark'

/** Starts the system's browser, with a profile of its own. */
export function startBrowser(): Promise<Browser> {
  const program = outputOf(process.execPath, systemPackagesScript, 'chromium')
  const executablePath = outputOf('sh', '-c', 'command -v "$1"', 'sh', program)
  return chromium.launch({ executablePath, args: FLAGS })
}

function outputOf(program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: projectRoot, encoding: 'utf8' }).trim()
}

/** A page of the console, and what it must not do. */
export class ConsolePage {
  readonly page: Page
  /** Errors of the browser's console, and requests to anybody but the gateway. */
  readonly faults: string[] = []
  /** Paths that were asked for, with their queries. */
  readonly asked: string[] = []

  constructor(page: Page, baseUrl: string) {
    this.page = page
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('pageerror', (error) => this.faults.push(String(error)))
    page.on('console', (message) => {
      // A refusal of the API is noted by the browser; what the page makes of it is what counts.
      const isRefusal = message.text().startsWith('Failed to load resource')
      if (['error', 'warning'].includes(message.type()) && !isRefusal) this.faults.push(message.text())
    })
    page.on('request', (request) => {
      const url = request.url()
      if (/^(?:data|blob):/.test(url)) return
      if (url.startsWith(`${baseUrl}/`)) this.asked.push(url.slice(baseUrl.length))
      else this.faults.push(`asked for ${url}`)
    })
  }

  /** Presses a key until the element of this kind and name has the focus. */
  async tabTo(key: 'Tab' | 'Shift+Tab', kind: 'A' | 'BUTTON', name: string): Promise<void> {
    const focused = () =>
      this.page.evaluate('document.activeElement.tagName + " " + (document.activeElement.innerText ?? "").trim()')
    for (let tabs = 0; tabs < TABS_MAX; tabs++) {
      await this.page.keyboard.press(key)
      if ((await focused()) === `${kind} ${name}`) return
    }
    assert.fail(`${key} does not reach ${name}`)
  }

  /**
   * Follows a link of the menu by the keyboard alone, and waits until its page has what it shows. The menu stands before the
   * heading, which has the focus when a page was followed to.
   */
  async follow(name: string): Promise<void> {
    const isNarrow = await this.page.locator('.menu-button').isVisible()
    if (isNarrow) {
      await this.tabTo('Shift+Tab', 'BUTTON', 'Menu')
      await this.page.keyboard.press('Enter')
    }
    await this.tabTo(isNarrow ? 'Tab' : 'Shift+Tab', 'A', name)
    await this.page.keyboard.press('Enter')
    await this.loaded(name)
  }

  async loaded(title: string): Promise<void> {
    await this.page.locator('h1', { hasText: title }).waitFor()
    await this.quiet()
  }

  /**
   * The paths of the API that the page asks for while `work` is done, decoded and in their order. The page and the browser take a
   * moment to ask: `least` of them are waited for, and then until nothing is on its way.
   */
  async callsOf(least: number, work: () => Promise<void>): Promise<string[]> {
    const before = this.asked.length
    const calls = () =>
      this.asked
        .slice(before)
        .map(decodeURIComponent)
        .filter((path) => path.startsWith('/v1/'))
    await work()
    await until('the calls of the page', () => calls().length >= least)
    await this.quiet()
    return calls()
  }

  /** Waits until nothing of the page is on its way. */
  async quiet(): Promise<void> {
    await this.page.locator('.loading, [aria-busy=true]').first().waitFor({ state: 'detached' })
  }

  /** The findings of axe that are serious or worse. @param rules only these; all when absent */
  async findings(rules?: readonly string[]): Promise<string[]> {
    if ((await this.page.evaluate('typeof axe')) === 'undefined') await this.page.evaluate(axeSource)
    const options = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }
    const { violations } = (await this.page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
      violations: { id: string; impact: string; nodes: { html: string }[] }[]
    }
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }
}

/** A page of its own in a window of this width. */
export async function openPage(browser: Browser, baseUrl: string, width: number, scheme: Scheme): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height: 820 },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  })
  return new ConsolePage(await context.newPage(), baseUrl)
}

/** Gives the pages of a window a wallet, which announces itself as of EIP-6963 and signs what it is asked to. */
export async function addWallet(page: Page, wallet: PrivateKeyAccount, name = 'Test Wallet'): Promise<void> {
  const sign = `signBy${wallet.address}`
  await page.exposeFunction(sign, (raw: `0x${string}`) => wallet.signMessage({ message: { raw } }))
  await page.addInitScript(`{
    const request = async ({ method, params }) =>
      method === 'eth_requestAccounts' ? ['${wallet.address}'] : window.${sign}(params[0])
    const detail = { info: { uuid: '${name}', name: '${name}' }, provider: { request } }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
    addEventListener('eip6963:requestProvider', announce)
  }`)
}
