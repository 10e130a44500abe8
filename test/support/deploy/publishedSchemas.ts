import type { KubernetesObject } from './kubernetes.ts'

/** Groups whose schemas Kubernetes publishes; the operator of Prometheus has its own. */
const OWN_GROUPS = /^(?:(?:apps|batch|policy|autoscaling|networking\.k8s\.io)\/)?v\d+$/

type Model = new (object: unknown) => { validate(): void }

/**
 * What the schemas that Kubernetes publishes find wrong with an object: members that are missing or of another type. They let
 * unknown members pass, which `shapeFaults` finds.
 */
export async function publishedFaults(object: KubernetesObject): Promise<string[]> {
  const { apiVersion, kind, metadata } = object
  if (!OWN_GROUPS.test(apiVersion)) return []
  const models = (await import(`kubernetes-models/${apiVersion}`)) as Readonly<Record<string, Model | undefined>>
  const KindModel = models[kind]
  if (KindModel === undefined) return [`${apiVersion} has no ${kind}`]
  try {
    new KindModel(object).validate()
    return []
  } catch (error) {
    return [`${kind} ${metadata.name}: ${String(error)}`]
  }
}
