/**
 * Labels added and taken away in one request. REST has a request for each, or one that replaces all labels and would lose
 * what somebody else added meanwhile; GraphQL does both at once, and knows labels by their ids.
 */
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import type { Readiness } from './readiness.ts';
import { labelShape, swapShape } from './shapes.ts';

interface LabelSwap {
  /** The labels it has then; null where it can't be done so: a label does not exist yet, or GitHub refuses. */
  make(issueId: string, change: { add: string[]; remove: string[] }): Promise<string[] | null>;
}

export function openLabelSwap(
  { client, at }: Pick<Place, 'client' | 'at'>,
  { labelId }: Pick<Readiness, 'labelId'>,
): LabelSwap {
  let listed: Map<string, string> | null = null;

  const list = async (): Promise<Map<string, string>> => {
    const labels = await client.list('/repos/{owner}/{repo}/labels', at, labelShape);
    return new Map(labels.map((label) => [normal(label.name), label.node_id]));
  };

  /** A query finds a label only by its name as it is written; the list is read for one in other letters. */
  const idsOf = async (names: readonly string[]): Promise<(string | undefined)[]> => {
    const told = names.map(labelId);
    if (!told.includes(undefined)) return told;
    listed ??= await list();
    return names.map((name) => listed?.get(normal(name)));
  };

  return {
    async make(issue, { add, remove }) {
      const [added, removed] = [await idsOf(add), await idsOf(remove)];
      if ([...added, ...removed].includes(undefined)) {
        listed = null;
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
        listed = null;
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
