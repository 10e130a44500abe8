import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { projectRoot } from '../../control/launch/paths.ts'

const FILE = join(projectRoot, 'test/integration/console/screens.json')
const COLUMNS = 32
const ROWS = 20
/** Differences of brightness, of 255: the mean of all cells, and that of a cell that counts as another one. */
const MEAN_MAX = 4
const CELL_MAX = 16
/** Cells that may be others: texts with the time, the date, ids and amounts differ from run to run. */
const OTHER_CELLS_MAX = 24

/** The mean brightness of each cell of a picture, row by row. */
const CELLS = `async ({ png, columns, rows }) => {
  const image = new Image()
  image.src = 'data:image/png;base64,' + png
  await image.decode()
  const canvas = new OffscreenCanvas(image.width, image.height)
  const context = canvas.getContext('2d')
  context.drawImage(image, 0, 0)
  const { data } = context.getImageData(0, 0, image.width, image.height)
  const sums = new Array(columns * rows).fill(0)
  const counts = new Array(columns * rows).fill(0)
  for (let y = 0; y < image.height; y++) {
    for (let x = 0; x < image.width; x++) {
      const cell = Math.floor((y * rows) / image.height) * columns + Math.floor((x * columns) / image.width)
      const at = 4 * (y * image.width + x)
      sums[cell] += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]
      counts[cell]++
    }
  }
  return sums.map((sum, cell) => Math.round(sum / counts[cell]))
}`

/**
 * Compares what pages look like with recorded pictures, which are kept as the brightness of a grid of cells: that a page is laid out
 * and colored as it was, whatever fonts the machine has. SLUICE_PICTURES=1 records them anew.
 */
export class Screens {
  private readonly reader: Page
  private readonly known: Record<string, string>
  readonly isRecording = process.env['SLUICE_PICTURES'] !== undefined

  private constructor(reader: Page) {
    this.reader = reader
    this.known = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, string>) : {}
  }

  static async open(browser: Browser): Promise<Screens> {
    return new Screens(await browser.newPage())
  }

  /** @param name of the page, its width and its colors */
  async assertLike(page: Page, name: string): Promise<void> {
    const png = (await page.screenshot({ animations: 'disabled', caret: 'hide' })).toString('base64')
    const cells = (await this.reader.evaluate(
      `(${CELLS})(${JSON.stringify({ png, columns: COLUMNS, rows: ROWS })})`,
    )) as number[]
    if (this.isRecording) {
      this.known[name] = Buffer.from(cells).toString('base64')
      return
    }
    const wanted = Buffer.from(this.known[name] ?? assert.fail(`there is no picture of ${name}`), 'base64')
    const differences = cells.map((cell, i) => Math.abs(cell - (wanted[i] ?? 0)))
    const mean = differences.reduce((sum, difference) => sum + difference, 0) / differences.length
    const others = differences.filter((difference) => difference > CELL_MAX).length
    const what = `${name}: mean difference ${mean.toFixed(1)} of ${MEAN_MAX}, ${others} of ${OTHER_CELLS_MAX} cells differ`
    assert.ok(mean <= MEAN_MAX && others <= OTHER_CELLS_MAX, what)
  }

  /** Writes what was recorded. */
  async close(): Promise<void> {
    await this.reader.close()
    const sorted = Object.fromEntries(Object.entries(this.known).sort(([one], [other]) => (one < other ? -1 : 1)))
    if (this.isRecording) writeFileSync(FILE, `${JSON.stringify(sorted, null, 2)}\n`)
  }
}
