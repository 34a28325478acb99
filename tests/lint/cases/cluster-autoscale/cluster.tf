resource "databricks_cluster" "rtm" {
  cluster_name   = "fraud"
  spark_version  = "15.4.x-scala2.12" # expect: cluster-runtime
  node_type_id   = "i3.xlarge"
  runtime_engine = "PHOTON" # expect: cluster-photon
  autoscale { # expect: cluster-autoscale
    min_workers = 1
    max_workers = 8
  }
  aws_attributes {
    availability = "SPOT" # expect: cluster-spot
  }
  spark_conf = {
    "spark.databricks.streaming.realTimeMode.enabled" = "true"
  }
}
