/**
 * Labels added and taken away in one request. REST has a request for each, or one that replaces all labels and would lose
 * what somebody else added meanwhile; GraphQL does both at once, and knows labels by their ids.
 */
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { labelShape, swapShape } from './shapes.ts';

interface LabelSwap {
  /** The labels it has then; null where it can't be done so: a label does not exist yet, or GitHub refuses. */
  make(issueId: string, change: { add: string[]; remove: string[] }): Promise<string[] | null>;
}

export function openLabelSwap({ client, at }: Pick<Place, 'client' | 'at'>): LabelSwap {
  let ids: Map<string, string> | null = null;

  const known = async (): Promise<Map<string, string>> => {
    const listed = await client.list('/repos/{owner}/{repo}/labels', at, labelShape);
    return new Map(listed.map((label) => [normal(label.name), label.node_id]));
  };

  return {
    async make(issue, { add, remove }) {
      ids ??= await known();
      const [added, removed] = [add, remove].map((names) => names.map((name) => ids?.get(normal(name))));
      if ([...added!, ...removed!].includes(undefined)) {
        ids = null;
        return null;
      }
      try {
        const { removeLabelsFromLabelable: done } = await client.graphql(
          SWAP,
          { issue, add: added, remove: removed },
          swapShape,
        );
        return done.labelable.labels.nodes.map(({ name }) => name);
      } catch (problem) {
        if (!(problem instanceof Refused)) throw problem;
        ids = null;
        return null;
      }
    },
  };
}

const normal = (name: string): string => name.trim().toLowerCase();

const SWAP = `mutation($issue: ID!, $add: [ID!]!, $remove: [ID!]!) {
  addLabelsToLabelable(input: { labelableId: $issue, labelIds: $add }) { clientMutationId }
  removeLabelsFromLabelable(input: { labelableId: $issue, labelIds: $remove }) {
    labelable { labels(first: 100) { nodes { name } } } } }`;
