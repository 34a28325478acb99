"""List the streaming settings in Spark 4.3.0 and Databricks, and find the setting closest to a misspelled key."""

import re
from difflib import get_close_matches

FLAG = "spark.databricks.streaming.realTimeMode.enabled"
ALLOWLIST_CHECK = "realTimeMode.allowlistCheck"
CHECKPOINT_V1 = "realTimeMode.dangerouslyAllowCheckpointV1.enabled"
NAMES = """
    aggregation.stateFormatVersion asyncLogPurge.enabled checkUnfinishedRepartitionOnRestart
    checkpoint.escapedPathCheck.enabled checkpoint.fileChecksum.enabled
    checkpoint.fileChecksum.skipCreationIfFileMissingChecksum checkpoint.renamedFileCheck.enabled
    checkpoint.verifyMetadataExists.enabled checkpointFileManagerClass checkpointLocation commitProtocolClass
    continuous.epochBacklogQueueSize continuous.executorPollIntervalMs continuous.executorQueueSize
    disabledV2MicroBatchReaders disabledV2Writers fileSink.log.cleanupDelay fileSink.log.compactInterval
    fileSink.log.deletion fileSource.cleaner.numThreads fileSource.log.cleanupDelay fileSource.log.compactInterval
    fileSource.log.deletion fileSource.schema.forceNullable fileStreamSink.ignoreMetadata
    flatMapGroupsWithState.skipEmittingInitialStateKeys flatMapGroupsWithState.stateFormatVersion
    forceDeleteTempCheckpointLocation internal.stateStore.partitions join.stateFormatVersion
    kafka.useDeprecatedOffsetFetching maxBatchesToRetainInMemory metadataCache.enabled metricsEnabled
    minBatchesToRetain multipleWatermarkPolicy noDataMicroBatches.enabled noDataProgressEventInterval
    numRecentProgressUpdates offsetLog.formatVersion optimizeOneRowPlan.enabled pollingDelay
    queryEvolution.enableSinkEvolution queryEvolution.enableSourceEvolution ratioExtraSpaceAllowedInCheckpoint
    realTimeMode.allowlistCheck realTimeMode.asyncProgressTrackingByDefault.enabled
    realTimeMode.dangerouslyAllowCheckpointV1.enabled realTimeMode.minBatchDuration
    realTimeMode.transformWithState.ttlEvictionIntervalMs schemaInference
    sessionWindow.merge.sessions.in.local.partition sessionWindow.stateFormatVersion
    stateStore.autoSnapshotRepair.enabled stateStore.autoSnapshotRepair.maxChangeFileReplay
    stateStore.autoSnapshotRepair.numFailuresBeforeActivating stateStore.checkpointFormatVersion
    stateStore.commitValidation.enabled stateStore.compression.codec stateStore.coordinatorReportSnapshotUploadLag
    stateStore.encodingFormat stateStore.fileChecksumThreadPoolSize stateStore.forceSnapshotUploadOnLag
    stateStore.formatValidation.enabled stateStore.maintenanceForceShutdownTimeout stateStore.maintenanceInterval
    stateStore.maintenanceProcessingTimeout stateStore.maintenanceShutdownTimeout
    stateStore.maxLaggingStoresToReport stateStore.maxNumStateSchemaFiles
    stateStore.maxVersionsToDeletePerMaintenance stateStore.minDeltasForSnapshot
    stateStore.multiplierForMinTimeDiffToLog stateStore.multiplierForMinVersionDiffToLog
    stateStore.numStateStoreInstanceMetricsToReport stateStore.numStateStoreMaintenanceThreads
    stateStore.providerClass stateStore.rocksdb.formatVersion stateStore.rocksdb.mergeOperatorVersion
    stateStore.rowChecksum.enabled stateStore.rowChecksum.readVerificationRatio
    stateStore.skipNullsForStreamStreamJoins.enabled stateStore.snapshotLagReportInterval
    stateStore.snapshotToCleanupThreadRatio stateStore.stateSchemaCheck stateStore.unloadOnCommit
    stateStore.valueStateSchemaEvolutionThreshold statefulOperator.allowMultiple
    statefulOperator.alwaysNullableOutput.enabled statefulOperator.checkCorrectness.enabled
    statefulOperator.incrementalCleanupFactor statefulOperator.useStrictDistribution stopActiveRunOnRestart
    stopTimeout streamingQueryListeners transformWithState.stateSchemaVersion triggerAvailableNowWrapper.enabled
    ui.enabled ui.enabledCustomMetricList ui.retainedProgressUpdates ui.retainedQueries unsupportedOperationCheck
    useStreamlineAggregator validateEventTimeWatermarkColumn verifyCheckpointDirectoryEmptyOnStart
"""
"""OSS keys below `spark.sql.streaming.`. A test compares them with the engine."""
SHUFFLE_NAMES = """
    checksum.enabled networkBufferMaxWaitTimeMs networkBufferSize readerMaxMemory
    writerConnectionTimeout writerMaxMemory
"""
"""OSS keys below `spark.shuffle.streaming.`."""
DATABRICKS_KEYS = (
    FLAG,
    f"spark.databricks.streaming.{ALLOWLIST_CHECK}",
    f"spark.databricks.streaming.{CHECKPOINT_V1}",
    "spark.databricks.streaming.realTimeMode.streamStreamJoin.enabled",
    "spark.databricks.streaming.statefulOperator.asyncCheckpoint.enabled",
    "spark.databricks.streaming.watermarkAdvancementStrategy",
    "spark.databricks.streaming.execution.enableDebugMetrics",
    "spark.sql.streaming.realTimeMode.controlMessage.enabled",
    "spark.sql.streaming.join.stateFormatV4.enabled",
)
"""Databricks keys from this pack's pages and the vendor's samples. The complete list is not public."""
KNOWN = {
    *(f"spark.sql.streaming.{name}" for name in NAMES.split()),
    *(f"spark.shuffle.streaming.{name}" for name in SHUFFLE_NAMES.split()),
    *DATABRICKS_KEYS,
    "spark.sql.shuffle.partitions",
}
JUDGED = re.compile(
    r"spark\.(?:sql\.(?:streaming|shuffle)|databricks\.streaming|shuffle\.streaming|streaming)\.", re.IGNORECASE
)
OPEN = re.compile(r"spark\.(?:sql\.streaming\.stateStore\.rocksdb|streaming\.(?!realTime))\.?", re.IGNORECASE)
"""Pattern for prefixes below which Spark accepts keys that are not in any list."""
REAL_TIME = re.compile(
    r"spark\.(?:(?:sql|databricks|streaming|sql\.streaming|databricks\.streaming|databricks\.sql\.streaming)\.)?"
    r"(?:real[-_.]?time(?:[-_.]?mode)?|rtm)(?:\.(?:mode\.)?enabled?|\.mode)?",
    re.IGNORECASE,
)
"""Pattern for a key whose only possible purpose is to turn real-time mode on."""
PART = re.compile(r"spark\.(?:sql|databricks|streaming)\.[\w.]*real[-_.]?time[-_.]?mode", re.IGNORECASE)
CUTOFF = 0.8
PREFIXES = ("spark.sql.streaming.", "spark.sql.streaming.statestore.", "spark.sql.streaming.realtimemode.",
            "spark.shuffle.streaming.", "spark.databricks.streaming.", "spark.sql.")  # fmt: skip


def _rest(key: str, prefix: str) -> str:
    return key.removeprefix(prefix).removesuffix(".enabled")


def is_switch(key: str) -> bool:
    """Return whether a key's only possible purpose is to turn real-time mode on."""
    return bool(REAL_TIME.fullmatch(key))


def nearest(key: str) -> str | None:
    """Return the known key that resembles an invalid key, "" if no key does, or None for a key that may exist."""
    if key in KNOWN or OPEN.match(key):
        return None
    if is_switch(key):
        return FLAG
    is_about = bool(PART.match(key))
    if not (is_about or JUDGED.match(key)):
        return None
    names = {known.lower(): known for known in sorted(KNOWN, reverse=True)}
    _, mode, name = key.lower().rpartition("realtimemode.")
    end = mode + name if mode else ".streaming." + key.lower().partition(".streaming.")[2]
    same = [known for low, known in names.items() if low.endswith(end)]
    if same:
        return names[get_close_matches(key.lower(), [each.lower() for each in same], 1, 0)[0]]
    # Long common prefixes and suffixes would make all names similar.
    prefix = max((each for each in PREFIXES if key.lower().startswith(each)), key=len, default="")
    rests = {_rest(low, prefix): known for low, known in names.items() if low.startswith(prefix)}
    if close := get_close_matches(_rest(key.lower(), prefix), rests, 1, CUTOFF):
        return rests[close[0]]
    return "" if is_about and not key.startswith("spark.databricks.streaming.") else None
