// Goal: the Helm chart makes the objects that the overlays of kustomize make, and every value of it counts.
// Method: the templates are filled in here, by Helm too where it is at hand, and compared with what kubectl renders.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { chartFile, chartValues, renderChart } from '../../support/deploy/helmChart.ts'
import { type KubernetesObject, renderOverlay } from '../../support/deploy/kubernetes.ts'
import { publishedFaults } from '../../support/deploy/publishedSchemas.ts'
import { referenceFaults } from '../../support/deploy/references.ts'
import { shapeFaults } from '../../support/deploy/shapes.ts'

const OVERLAYS = ['small', 'production']
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
const hasHelm = spawnSync('helm', ['version']).status === 0
/** What Helm alone needs. */
const OF_HELM = /^(helm\.sh|checksum)\//
/** The end of the name of a config map by which kustomize tells its versions apart. */
const HASH = /^(sluice-(?:catalog|settings))-[a-z0-9]{10}$/

for (const overlay of OVERLAYS) {
  test(`the chart with the values of ${overlay} makes whole objects`, async () => {
    const objects = renderChart(chartValues(`${overlay}.yaml`))
    assert.deepEqual(objects.map(asApplied).flatMap(shapeFaults), [])
    assert.deepEqual((await Promise.all(objects.map(publishedFaults))).flat(), [])
    assert.deepEqual(referenceFaults(objects), [])
  })

  test(`the chart with the values of ${overlay} makes the objects of the overlay`, { skip: !hasKubectl }, () => {
    const chart = renderChart(chartValues(`${overlay}.yaml`))
    const kustomized = renderOverlay(overlay).filter(({ kind }) => kind !== 'Namespace')
    assert.deepEqual(byName(chart.map(asApplied)), byName(kustomized.map(asApplied)))
  })

  test(`helm makes the same of the values of ${overlay}`, { skip: !hasHelm }, () => {
    const chart = join(projectRoot, 'deploy/helm/sluice')
    const values = join(projectRoot, `deploy/helm/${overlay}.yaml`)
    execFileSync('helm', ['lint', '--strict', chart, '-f', values])
    const text = execFileSync('helm', ['template', 'sluice', chart, '-f', values], { encoding: 'utf8' })
    const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject)
    assert.deepEqual(byName(objects), byName(renderChart(chartValues(`${overlay}.yaml`))))
  })
}

const validate = new Ajv({ strict: false }).compile(parse(chartFile('values.schema.json')) as JsonObject)

test('the schema takes the values of the chart and of the overlays', () => {
  for (const values of [chartValues(), ...OVERLAYS.map((overlay) => chartValues(`${overlay}.yaml`))])
    assert.ok(validate(values), JSON.stringify(validate.errors))
})

const MISTYPED: readonly (readonly [what: string, path: string, value: unknown])[] = [
  ['an unknown value', 'replicas', 3],
  ['an unknown value within a part', 'proxy.replica', 3],
  ['a setting that is no text', 'settings.SLUICE_TRUSTED_PROXIES', 1],
  ['no replicas', 'proxy.replicas', 0],
  ['a truth as a text', 'valkey.enabled', 'true'],
]
for (const [what, path, value] of MISTYPED) {
  test(`the schema refuses ${what}`, () => assert.equal(validate(changed(chartValues(), path, value)), false))
}

test('every value changes what the chart makes', () => {
  const all = changed(changed(chartValues('production.yaml'), 'valkey.enabled', true), 'proxy.replicas', 7)
  const before = JSON.stringify(renderChart(all))
  for (const [path, value] of leaves(all)) {
    const other = typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${String(value)}x`
    // The number of proxies is the autoscaler's, where there is one.
    const base = path === 'proxy.replicas' ? changed(all, 'proxy.autoscaling.enabled', false) : all
    const made = JSON.stringify(renderChart(changed(base, path, other)))
    assert.notEqual(made, path === 'proxy.replicas' ? JSON.stringify(renderChart(base)) : before, path)
  }
})

test('pods are made anew where their settings change, and controls where the catalog does', () => {
  const sums = (values: JsonObject, kind: string): unknown =>
    renderChart(values).find((object) => object.kind === kind)?.spec.template.metadata
  const values = chartValues()
  const settings = changed(values, 'settings.LOG_LEVEL', 'debug')
  const catalog = changed(values, 'catalog', '# nothing')
  assert.notDeepEqual(sums(settings, 'StatefulSet'), sums(values, 'StatefulSet'))
  assert.notDeepEqual(sums(settings, 'Deployment'), sums(values, 'Deployment'))
  assert.notDeepEqual(sums(catalog, 'Deployment'), sums(values, 'Deployment'))
  assert.deepEqual(sums(catalog, 'StatefulSet'), sums(values, 'StatefulSet'))
})

function changed(values: JsonObject, path: string, value: unknown): JsonObject {
  const [name = '', ...rest] = path.split('.')
  const inner = values[name]
  return { ...values, [name]: rest.length > 0 && isJsonObject(inner) ? changed(inner, rest.join('.'), value) : value }
}

/** Every value that is no map, and maps and lists that are empty, by its path. */
function leaves(values: JsonObject, before = ''): [path: string, value: unknown][] {
  return Object.entries(values).flatMap(([name, value]): [string, unknown][] => {
    const path = `${before}${name}`
    return isJsonObject(value) && Object.keys(value).length > 0 ? leaves(value, `${path}.`) : [[path, value]]
  })
}

function byName(objects: readonly KubernetesObject[]): Record<string, unknown> {
  return Object.fromEntries(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]))
}

/** An object as both ways make it: without a namespace, hashes of names, what Helm alone needs, and what is empty. */
function asApplied(object: KubernetesObject): KubernetesObject {
  return plain(object) as KubernetesObject
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'string') return value.replace(HASH, '$1')
  if (!isJsonObject(value)) return value
  const members = Object.entries(value)
    .filter(([name]) => name !== 'namespace' && name !== 'imagePullPolicy' && !OF_HELM.test(name))
    .map(([name, member]): [string, unknown] => [name, plain(member)])
    .filter(([, member]) => !isEmpty(member))
  return Object.fromEntries(members)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
