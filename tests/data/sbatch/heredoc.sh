#!/bin/bash
#SBATCH --job-name=heredoc
#SBATCH --time=10
#SBATCH --ntasks=1

export RATE=0.1
cat >config.$$.yaml <<YAML
# made by $SLURM_JOB_NAME
rate: $RATE
nested: {a: [1, 2], b: "c: d"}
YAML
cat config.$$.yaml
rm config.$$.yaml
cat <<'EOF'
#SBATCH --job-name=not-a-directive
run: |
  literal $RATE `hostname`
EOF
cat <<-TABS
	stripped
	TABS
echo "no newline at the end"