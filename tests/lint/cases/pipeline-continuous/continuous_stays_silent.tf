resource "databricks_pipeline" "alerts" {
  continuous = true
  photon     = true
  configuration = {
    "spark.databricks.streaming.realTimeMode.enabled" = "true"
  }
  cluster {
    label       = "default"
    num_workers = 2
  }
}

resource "databricks_pipeline" "nightly" {
  name       = "nightly"
  continuous = false
}
