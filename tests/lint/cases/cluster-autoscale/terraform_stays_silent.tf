/* autoscale in real-time mode */
variable "rtm" {
  description = <<-EOT
    autoscale {
      min_workers = 1
    }
  EOT
}

resource "databricks_cluster" "rtm" {
  spark_version = data.databricks_spark_version.latest.id
  node_type_id  = "i3.xlarge"
  num_workers   = var.workers
  spark_conf    = merge(local.confs, { "spark.databricks.streaming.realTimeMode.enabled" = "true" })
}

resource "databricks_cluster" "etl" {
  spark_version = "13.3.x-scala2.12"
  autoscale {
    min_workers = 1
    max_workers = 8
  }
}
