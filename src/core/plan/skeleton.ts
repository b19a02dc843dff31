/** A plan to fill in. It has everything that `lintPlan` asks for. */
export function planSkeleton(name: string): string {
  return `<!-- forge-plan:start -->

# ${name}

Loop Name: ${name}

## Objective

What is built, and why.

<!-- forge-section -->
## Milestone 1: what it achieves

### Files

- \`src/example.ts\`

### Edits

- What changes in each file: functions, their signatures, what calls them.

### Acceptance Criteria

- [ ] What is true when this milestone is done.

### Verification

- The commands that show it, and what they must print.

<!-- forge-section -->
## Milestone 2: what it achieves

### Files

- \`src/example.test.ts\`

### Edits

- What changes in each file.

### Acceptance Criteria

- [ ] What is true when this milestone is done.

### Verification

- The commands that show it, and what they must print.

## Verification

- How to tell that the whole plan is done.

## Decisions

- What was decided, and why.

## Conventions

- What the code here keeps to.

## Key Context

- What a newcomer must know: files, functions, constraints.

<!-- forge-plan:end -->
`;
}
