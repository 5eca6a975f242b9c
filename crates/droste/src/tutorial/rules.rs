struct Build {
    rules: HashMap<String, Vec<String>>,
    goal: String,
    /// Whether a failed compiler run is repeated.
    retry: bool,
    /// Whether something may have been built before.
    cached: bool,
}

impl Build {
    /// One rule per line, the goal first: `app: lib util`.
    fn new(text: &str) -> Self {
        let rules = text.lines().filter_map(|line| line.split_once(':'));
        let rules = rules.map(|(target, needs)| {
            (target.trim().to_owned(), needs.split_whitespace().map(str::to_owned).collect())
        });
        let goal = text.split(':').next().unwrap_or_default().trim().to_owned();
        Build { rules: rules.collect(), goal, retry: false, cached: false }
    }

    fn needs(&self, target: &str) -> &[String] {
        self.rules.get(target).map_or(&[], Vec::as_slice)
    }

    /// All targets, in a fixed order: a `HashMap` has none.
    fn targets(&self) -> Vec<&String> {
        let mut targets: Vec<&String> = self.rules.keys().collect();
        targets.sort_unstable();
        targets
    }
}
