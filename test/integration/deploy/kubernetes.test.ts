// Goal: the overlays of deploy/k8s render to objects that the API server takes and whose references lead somewhere.
// Method: kubectl renders them where it is at hand; a strict reading of the kinds that are used, since no API server is here.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { workerStopMaxMs } from '../../../contract/limits/stopTime.ts'
import { secretNames, variableNames } from '../../../contract/schemas/environment.ts'
import { fileVariable } from '../../../contract/schemas/secretFiles.ts'
import { type Limits, readLimits } from '../../../proxy/limits.ts'
import { imageEnvironment } from '../../support/deploy/dockerfile.ts'
import { environmentOf, type KubernetesObject, renderOverlay, workloads } from '../../support/deploy/kubernetes.ts'
import { publishedFaults } from '../../support/deploy/publishedSchemas.ts'
import { referenceFaults } from '../../support/deploy/references.ts'
import { shapeFaults } from '../../support/deploy/shapes.ts'

const { metricNames } = (await import(new URL('../../../../scripts/docs/metrics.mjs', import.meta.url).href)) as {
  metricNames(): Promise<string[]>
}
const skip = spawnSync('kubectl', ['version', '--client']).status !== 0 && 'kubectl is not here'

for (const overlay of ['small', 'production']) {
  test(`${overlay} renders to whole objects`, { skip }, async () => {
    const objects = renderOverlay(overlay)
    assert.deepEqual(objects.flatMap(shapeFaults), [])
    assert.deepEqual((await Promise.all(objects.map(publishedFaults))).flat(), [])
    assert.deepEqual(referenceFaults(objects), [])
    for (const { kind, metadata } of objects.filter((one) => one.kind !== 'Namespace'))
      assert.equal(Reflect.get(metadata, 'namespace'), 'sluice', `${kind} ${metadata.name}`)
  })

  test(`${overlay} gives each part variables that it reads, and secrets as files`, { skip }, () => {
    const objects = renderOverlay(overlay)
    const shared = new Set([...variableNames('proxy'), ...variableNames('control')])
    for (const workload of workloads(objects)) {
      for (const container of workload.spec.template.spec.containers) {
        if (!container.image.startsWith('sluice')) continue
        assert.match(container.image, /^sluice:\d/, 'an image has a version')
        const program =
          container.args?.[0] === 'proxy' || container.args?.[0] === 'control' ? container.args[0] : 'command line'
        const secrets = secretNames(program)
        const own = (container.env ?? []).map(({ name }) => name)
        const known = [...variableNames(program), ...secrets.map(fileVariable)]
        assert.deepEqual(
          own.filter((name) => !known.includes(name)),
          [],
          `${workload.metadata.name} does not read them`,
        )
        const all = Object.keys(environmentOf(container, objects))
        assert.deepEqual(
          all.filter((name) => !known.includes(name) && !shared.has(name)),
          [],
        )
        assert.deepEqual(
          all.filter((name) => secrets.includes(name)),
          [],
          'a secret in the environment',
        )
      }
    }
  })

  test(`${overlay} has pods without rights, each of which has a policy, and the ports of the image`, { skip }, () => {
    const objects = renderOverlay(overlay)
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ metadata }) => metadata.name)
    const environment = imageEnvironment()
    const ports = new Set([
      '8080',
      '6379',
      environment['SLUICE_METRICS_PORT'],
      environment['SLUICE_CONTROL_METRICS_PORT'],
    ])
    for (const { metadata, spec } of workloads(objects)) {
      const pod = spec.template.spec
      assert.ok(policies.includes(metadata.name), `no policy for ${metadata.name}`)
      assert.equal(pod.securityContext?.['runAsNonRoot'], true)
      assert.deepEqual(pod.securityContext?.['seccompProfile'], { type: 'RuntimeDefault' })
      for (const container of pod.containers) {
        assert.deepEqual(container['securityContext'], {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        assert.ok(container['resources'], 'a container has requests and limits')
        for (const port of container.ports ?? []) assert.ok(ports.has(String(port.containerPort)), port.name)
      }
    }
  })

  test(`${overlay} leaves proxies time to drain, and a notice that its probe sees`, { skip }, () => {
    const objects = renderOverlay(overlay)
    const proxy = workloads(objects).find(({ metadata }) => metadata.name === 'proxy')
    const pod = proxy?.spec.template.spec
    const container = pod?.containers[0]
    assert.ok(pod !== undefined && container !== undefined)
    const limits: Limits = readLimits(environmentOf(container, objects)['SLUICE_LIMITS'])
    const graceMs = (pod.terminationGracePeriodSeconds ?? 0) * 1_000
    assert.ok(graceMs > workerStopMaxMs(limits), `${graceMs} ms, ${workerStopMaxMs(limits)} ms are needed`)
    const { periodSeconds = 10, failureThreshold = 3 } = container.readinessProbe ?? {}
    assert.ok(periodSeconds * failureThreshold * 1_000 < limits.leaveNoticeMs)
  })
}

test('autoscaling reads metrics of the proxies that exist', { skip }, async () => {
  const names = await metricNames()
  const scalers = renderOverlay('production').filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
  const read = scalers.flatMap(({ spec }) => (spec as unknown as Scaling).metrics.map(({ pods }) => pods.metric.name))
  assert.deepEqual(read, ['sluice_open_requests', 'sluice_event_loop_delay_p99_seconds'])
  for (const name of read) assert.ok(names.includes(name), `no part serves ${name}`)
})

test('missing members and values of another type are found by the published schemas', { skip }, async () => {
  const objects = renderOverlay('small')
  for (const [from, to] of [
    ['"containerPort":8080', '"containerPort":"8080"'],
    ['"containerPort":8080', '"protocol":"TCP"'],
    ['"serviceName":"proxy-pods",', '"replicas":"2",'],
    ['"kind":"Job"', '"kind":"Jobs"'],
    ['"whenUnsatisfiable":"ScheduleAnyway"', '"whenUnsatisfiable":null'],
  ] as const) {
    const text = JSON.stringify(objects)
    assert.ok(text.includes(from), from)
    const changed = JSON.parse(text.replaceAll(from, to)) as KubernetesObject[]
    assert.notDeepEqual((await Promise.all(changed.map(publishedFaults))).flat(), [], to)
  }
})

test('mistyped members and references to nothing are found', { skip }, () => {
  const objects = renderOverlay('small')
  const changed = (from: string, to: string): KubernetesObject[] =>
    JSON.parse(JSON.stringify(objects).replaceAll(from, to)) as KubernetesObject[]
  for (const [from, to] of [
    ['"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'],
    ['"containerPort":8080', '"containerPort":"8080"'],
    ['"kind":"Job"', '"kind":"CronJob"'],
  ] as const)
    assert.notDeepEqual(changed(from, to).flatMap(shapeFaults), [], to)
  for (const [from, to] of [
    ['{"containerPort":8080,"name":"http"}', '{"containerPort":8080,"name":"web"}'],
    ['"serviceName":"proxy-pods"', '"serviceName":"proxies"'],
    ['"configMap":{"name":"sluice-catalog', '"configMap":{"name":"sluice-models'],
    ['"labels":{"app.kubernetes.io/component":"control"', '"labels":{"app.kubernetes.io/component":"controls"'],
    ['"mountPath":"/dev/shm","name":"memory"', '"mountPath":"/dev/shm","name":"shm"'],
  ] as const) {
    assert.notDeepEqual(referenceFaults(changed(from, to)), [], to)
  }
})

interface Scaling {
  readonly metrics: readonly { readonly pods: { readonly metric: { readonly name: string } } }[]
}
