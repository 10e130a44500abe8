import { catalogFilePage } from './catalogFile.mjs'
import { cliPage } from './cli.mjs'
import { configurationPage } from './configuration.mjs'
import { errorsPage } from './errors.mjs'
import { httpPage } from './http.mjs'
import { limitsPage } from './limits.mjs'
import { logsPage } from './logs.mjs'
import { metricsPage } from './metrics.mjs'

/**
 * The generated pages.
 * @param {string} root the folder of the project, compiled to dist/
 * @returns {Promise<[name: string, text: string][]>}
 */
export async function pages(root) {
  return [
    ['http.md', httpPage()],
    ['errors.md', errorsPage()],
    ['limits.md', limitsPage(root)],
    ['configuration.md', configurationPage(root)],
    ['catalog-file.md', catalogFilePage(root)],
    ['cli.md', cliPage()],
    ['metrics.md', await metricsPage()],
    ['logs.md', logsPage()],
  ]
}
