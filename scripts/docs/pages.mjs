import { alertsPage } from './alerts.mjs'
import { capacityFiguresFile, scalePage } from './capacity.mjs'
import { catalogFilePage } from './catalogFile.mjs'
import { cliPage } from './cli.mjs'
import { configurationPage } from './configuration.mjs'
import { dashboardFiles } from './dashboards.mjs'
import { errorsPage } from './errors.mjs'
import { readmeWithFigures } from './figures.mjs'
import { helmChart } from './helmChart.mjs'
import { historiesPage } from './histories.mjs'
import { httpPage } from './http.mjs'
import { limitsPage } from './limits.mjs'
import { logsPage } from './logs.mjs'
import { metricsPage } from './metrics.mjs'
import { overviewPicture } from './picture.mjs'
import { presetsPage } from './presets.mjs'

/**
 * The generated files: their paths in the project, and their texts.
 * @param {string} root the folder of the project, compiled to dist/
 * @returns {Promise<[name: string, text: string][]>}
 */
export async function pages(root) {
  return [
    ['docs/reference/http.md', httpPage()],
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/histories.md', historiesPage()],
    ['docs/reference/limits.md', limitsPage(root)],
    ['docs/reference/configuration.md', configurationPage(root)],
    ['docs/reference/catalog-file.md', catalogFilePage(root)],
    ['docs/reference/presets.md', presetsPage()],
    ['docs/reference/cli.md', cliPage()],
    ['docs/reference/alerts.md', await alertsPage(root)],
    ['docs/reference/metrics.md', await metricsPage()],
    ['docs/reference/logs.md', logsPage()],
    ...(await dashboardFiles()),
    ...helmChart(root),
    ['docs/images/overview.svg', overviewPicture(root)],
    ['control/cli/capacityFigures.ts', capacityFiguresFile(root)],
    ['docs/operations/scale.md', await scalePage(root)],
    ['README.md', readmeWithFigures(root)],
  ]
}
